# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched vanilla
# The kernel's own test of DMA channels, on every channel: nothing else is to be believed before.
modprobe ptdma || fail "modprobe ptdma"
mapfile -t channels < <(ptdma_channels)
at_least "channels" ${#channels[@]} 1
dmatest iterations=40 test_buf_size=65536
same "copies" "$tests" $((${#channels[@]} * 40))
same "failures" "$failures" 0

depth=/sys/module/ptdma/parameters/queue_depth
[ -e $depth ] || exit 0
full=$(<$depth)
for n in 0 $((full + 1)) many; do
	! echo "$n" 2>/dev/null >$depth || fail "a queue_depth of '$n' is taken"
done

# dmatest_counted OPTION...: all copies of 4000 bytes are right, and are counted.
dmatest_counted() {
	local copies bytes before

	copies=$(channel_count memcpy_count)
	bytes=$(channel_count bytes_transferred)
	before=$(channel_interrupts)
	dmatest test_buf_size=8192 transfer_size=4000 "$@"
	same failures "$failures" 0
	same memcpy_count $(($(channel_count memcpy_count) - copies)) "$tests"
	same bytes_transferred $(($(channel_count bytes_transferred) - bytes)) $((tests * 4000))
	raised=$(($(channel_interrupts) - before))
	echo "interrupts: $raised"
}

# Several clients a channel, more than its ring has room for: one command at a time, a few, as many
# as it takes.
all=("${channels[@]}")
channels=("${all[@]:0:3}")
for n in 1 2 $((full / 2)) "$full"; do
	echo "$n" >$depth || fail "queue_depth cannot be set"
	dmatest_counted iterations=30 threads_per_chan=$((full + 10))
	same copies "$tests" $((${#channels[@]} * (full + 10) * 30))
	at_least interrupts "$raised" 1
done

# dmatest is alone on a channel when it polls, since it terminates the channel after each copy. One
# command in a ring that holds many needs no interrupt.
channels=("${all[@]}")
dmatest_counted iterations=200 polled=1
same copies "$tests" $((${#channels[@]} * 200))
same "interrupts that nobody asked for" "$raised" 0
