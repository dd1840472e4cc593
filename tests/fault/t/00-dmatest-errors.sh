# SPDX-License-Identifier: GPL-2.0-or-later
# vm: errors torn
# A descriptor that the engine failed must be reported as failed: dmatest then never gets as far as
# comparing contents that were not copied.
modprobe ptdma || fail "modprobe ptdma"
modprobe dmatest iterations=60 timeout=20000 test_buf_size=65536 || fail "modprobe dmatest"
params=/sys/module/dmatest/parameters
mapfile -t channels < <(ptdma_channels)
for chan in "${channels[@]}"; do
	echo "$chan" >$params/channel || fail "dmatest refused $chan"
done
dmesg -C
echo 1 >$params/run
cat $params/wait >/dev/null
dmesg | grep -E 'dmatest: .*summary' | sed 's/^\[[^]]*\] //' | sort
dmesg | grep -E 'dmatest: .*result' | sed 's/.*#[0-9]*: //; s/ with .*//' | sort | uniq -c
wrong=$(dmesg | grep -cE 'dmatest: .*(mismatch|data error|srcbuf|dstbuf)')
same "copies reported as good whose contents were wrong" "$wrong" 0
timeouts=$(dmesg | grep -cE 'dmatest: .*timed out')
same "copies that were never reported at all" "$timeouts" 0
failures=$(dmesg | sed -n 's/.*summary [0-9]* tests, \([0-9]*\) failures.*/\1/p' |
	awk '{ n += $1 } END { print n + 0 }')
at_least "copies reported as failed" "$failures" 1
rmmod dmatest
