# SPDX-License-Identifier: GPL-2.0-or-later
# vm: errors torn
# A descriptor that fails in a full ring fails alone: those before and after it are copied, and
# exactly as many are reported as failed as the engine failed.
modprobe ptdma || fail "modprobe ptdma"
mapfile -t channels < <(ptdma_channels)
depth=/sys/module/ptdma/parameters/queue_depth
chan=${channels[0]}
function=$(function_of "$chan")
ppm=$(engine_count "$function" error-ppm)

# errors MINIMUM NAME=VALUE...
errors() {
	local before minimum=$1
	shift
	before=$(engine_count "$function" errors)
	dma_burst channel="$chan" "$@"
	at_least "descriptors reported as failed" "$(burst_value failed)" "$minimum"
	same "those that the engine failed" $(($(engine_count "$function" errors) - before)) \
		"$(burst_value failed)"
	same "those that were not answered" "$(burst_value lost)" 0
	same "left in the ring" "$(in_flight "$function")" 0
}

for n in 31 5 1; do
	echo $n >$depth || fail "queue_depth refused $n"
	errors 20 bursts=10 burst=100
	errors 20 bursts=10 burst=100 interrupt=100
	errors 20 bursts=10 burst=100 interrupt=0 poll=1
	# The first, one in the middle, the last of a burst alone.
	twinctl ptdma "$function" error-ppm=0
	for at in 1 50 100; do
		twinctl ptdma "$function" error-at=$at
		errors 1 bursts=2 burst=100 interrupt=100
		same "failed ones" "$(burst_value failed)" 1
	done
	# More than a channel remembers. None of them is to pass for a copy.
	twinctl ptdma "$function" error-ppm=1000000
	errors 300 bursts=3 burst=100 interrupt=100
	errors 300 bursts=3 burst=100 interrupt=0 poll=1
	twinctl ptdma "$function" error-ppm="$ppm"
done
echo 31 >$depth

# Slow enough to be paused in the middle.
run twinctl ptdma "$function" jitter-ns=1000000
errors 1 bursts=3 burst=60 pause=1
dma_burst channel="$chan" bursts=5 burst=60 terminate=1
same "left in the ring" "$(in_flight "$function")" 0
twinctl ptdma "$function" jitter-ns=0
