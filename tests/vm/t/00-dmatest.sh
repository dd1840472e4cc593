# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched vanilla
# The kernel's own test of DMA channels, on every channel: nothing else is to be believed before.
modprobe ptdma || fail "modprobe ptdma"
mapfile -t channels < <(ptdma_channels)
at_least "channels" ${#channels[@]} 1

modprobe dmatest iterations=40 timeout=20000 test_buf_size=65536 norandom=0 polled=0 ||
	fail "modprobe dmatest"
params=/sys/module/dmatest/parameters
for chan in "${channels[@]}"; do
	echo "$chan" >$params/channel || fail "dmatest refused $chan"
done
dmesg -C
echo 1 >$params/run
cat $params/wait >/dev/null
dmesg | grep -E 'dmatest: .*summary' | sed 's/^\[[^]]*\] //' | sort
good=$(dmesg | grep -cE 'dmatest: .*summary 40 tests, 0 failures')
same "channels without a failure" "$good" ${#channels[@]}
rmmod dmatest
