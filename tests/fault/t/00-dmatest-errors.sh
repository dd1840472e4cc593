# SPDX-License-Identifier: GPL-2.0-or-later
# vm: errors torn
# A descriptor that the engine failed must be reported as failed, and no other: dmatest then never
# gets as far as comparing contents that were not copied.
modprobe ptdma || fail "modprobe ptdma"
mapfile -t channels < <(ptdma_channels)

# dmatest ends all that a channel has to do when one of its threads has seen a failure: one thread.
depth=/sys/module/ptdma/parameters/queue_depth
for n in 1 "$(<$depth)"; do
	echo "$n" >$depth || fail "queue_depth cannot be set"
	for polled in 0 1; do
		copies=$(channel_count memcpy_count)
		dmatest iterations=40 test_buf_size=65536 polled=$polled
		wrong=$(dmesg | grep -cE 'dmatest: .*(mismatch|data error|srcbuf|dstbuf)')
		same "copies reported as good whose contents were wrong" "$wrong" 0
		timeouts=$(dmesg | grep -cE 'dmatest: .*timed out')
		at_least "copies reported as failed" "$failures" 1
		same "errors of the engine" "$(dmesg | grep -c 'ptdma .* PTDMA error')" "$failures"
		same "copies counted" $(($(channel_count memcpy_count) - copies)) $((tests - failures))
		# Polled, dmatest has no other word for a failure.
		[ $polled = 1 ] || same "copies that were never reported at all" "$timeouts" 0
	done
done
