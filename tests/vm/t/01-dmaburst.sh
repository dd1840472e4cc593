# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# What the driver owes a client that has many descriptors in flight: each is copied and answered in
# order, with interrupts where they are asked for, while the channel is paused, terminated, and told
# things twice.
modprobe ptdma || fail "modprobe ptdma"
mapfile -t channels < <(ptdma_channels)
at_least "channels" ${#channels[@]} 2
depth=/sys/module/ptdma/parameters/queue_depth
chan=${channels[0]}
function=$(function_of "$chan")

# good N: as many, and no other.
good() {
	same "descriptors" "$(burst_value descriptors)" "$1"
	same "good ones" "$(burst_value good)" "$1"
	same "left in the ring" "$(in_flight "$function")" 0
}

# interrupts COMMAND...: how many it takes is left in $interrupts.
interrupts() {
	local before
	before=$(interrupts_of "$function")
	"$@"
	interrupts=$(($(interrupts_of "$function") - before))
}

for n in 1 2 3 8 31; do
	echo $n >$depth || fail "queue_depth refused $n"
	# More than the ring holds, interrupts for all, some, the last, nobody.
	dma_burst channel="$chan" bursts=10 burst=100
	good 1000
	dma_burst channel="$chan" bursts=10 burst=100 interrupt=7
	good 1000
	dma_burst channel="$chan" bursts=4 burst=500 interrupt=500
	good 2000
	dma_burst channel="$chan" bursts=4 burst=500 interrupt=0 poll=1
	good 2000
done

# As many interrupts as were asked for, at most: several may come together.
interrupts dma_burst channel="$chan" bursts=20 burst=20 interrupt=10
good 400
at_least "interrupts of 20 bursts" $interrupts 20
at_least "interrupts that 40 descriptors asked for" 40 $interrupts
interrupts dma_burst channel="$chan" bursts=50 burst=20 interrupt=20
good 1000
same "interrupts that 50 descriptors asked for" $interrupts 50
interrupts dma_burst channel="$chan" bursts=50 burst=20 interrupt=0 poll=1
good 1000
same "interrupts that nobody asked for" $interrupts 0
# Only so many as it takes to fill the ring again.
interrupts dma_burst channel="$chan" bursts=2 burst=1000 interrupt=1000
good 2000
at_least "interrupts to copy 2000" $interrupts 2
at_least "a tenth of 2000" 200 $interrupts

# All channels at once.
dma_burst channels=${#channels[@]} bursts=5 burst=64 interrupt=8
good $((${#channels[@]} * 5 * 64))

# An engine that takes its time, says things twice, and interrupts for nothing.
run twinctl ptdma "$function" spurious-every=3 duplicate-every=2 jitter-ns=20000
dma_burst channel="$chan" bursts=10 burst=100
good 1000
dma_burst channel="$chan" bursts=10 burst=100 interrupt=0 poll=1
good 1000
run twinctl ptdma "$function" spurious-every=0 duplicate-every=0 jitter-ns=2000000

dma_burst channel="$chan" bursts=3 burst=60 pause=1
good 180
dma_burst channel="$chan" bursts=3 burst=60 pause=1 interrupt=0 poll=1
good 180

# Terminated with a full ring; paused before it, too.
dma_burst channel="$chan" bursts=5 burst=60 terminate=1
at_least "descriptors that were terminated" "$(burst_value terminated)" 100
same "left in the ring" "$(in_flight "$function")" 0
dma_burst channel="$chan" bursts=5 burst=60 terminate=1 interrupt=0
at_least "descriptors that were terminated" "$(burst_value terminated)" 100
dma_burst channel="$chan" bursts=3 burst=60 terminate=1 pause=1
at_least "descriptors that were terminated" "$(burst_value terminated)" 60
twinctl ptdma "$function" jitter-ns=0

dma_burst channel="$chan" bursts=10 burst=100
good 1000
