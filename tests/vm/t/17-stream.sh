# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Several batches in flight, folios split over the channels: contents survive, folios stay whole,
# the engine copies them, and batches are no larger than they were to be.
dcbm_on
set_knob default_channels 16

# streamed KIND SIZE BATCHES: at least so many, for four moves of 8192 pages.
streamed() {
	moves_by_dma "$1" "$2"
	at_least "batches ($1 $2)" "$(since batches)" "$3"
}

for kind in anon shmem; do
	stream 32 4 0
	streamed $kind 4K 1024
	stream 64 4 16384
	streamed $kind 64K 512
	stream 512 2 131072
	streamed $kind 1M 64
	streamed $kind 2M 64
	# More folios in a batch than there are copies to keep track of, and more batches than depth.
	stream 4096 4 0
	streamed $kind 4K 8
	stream 1 16 4096
	streamed $kind 64K 2048
done

# Two at once share the channels: neither is left to the CPU.
stream 32 4 0
count_from_here
mover --size 4K --bytes 16M --rounds 20 --writers 1 --seed 1 &
first=$!
mover --size 2M --bytes 32M --rounds 40 --writers 1 --seed 2 &
second=$!
wait $first || fail "the first of two movers ended with status $?"
wait $second || fail "the second of two movers ended with status $?"
show_counters
dma=$(since pages_dma) cpu=$(since pages_cpu)
at_least "share of DMA in percent (two movers)" $((100 * dma / (dma + cpu))) 90

# The engine goes and comes back in mid-stream.
mover --size 64K --bytes 32M --rounds 0 --seconds 12 --writers 2 --report /run/mover.line &
pid=$!
for _ in 1 2 3 4 5 6 7 8; do
	sleep 0.6
	echo 0 >/sys/kernel/dcbm/enabled || fail "dcbm cannot be switched off"
	sleep 0.2
	echo 1 >/sys/kernel/dcbm/enabled || fail "dcbm cannot be switched on"
done
kill -TERM $pid
wait $pid || fail "the mover ended with status $?: $(cat /run/mover.line)"
