# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Contents survive moves in both directions by DMA, while threads write, and it is DMA that does it.
dcbm_on
set_knob default_channels 16
set_knob default_pages 4096

# by_dma KIND SIZE OPTIONS...
by_dma() {
	local kind=$1 size=$2 dma cpu
	shift 2
	count_from_here
	move --size "$size" --bytes 64M --writers 2 --kind "$kind" "$@"
	show_counters
	dma=$(since pages_dma) cpu=$(since pages_cpu)
	at_least "share of DMA in percent ($kind $size)" $((100 * dma / (dma + cpu))) 95
}

for kind in anon shmem; do
	by_dma $kind 4K --rounds 4
	by_dma $kind 64K --rounds 4 --keep-size
	by_dma $kind 1M --rounds 4 --keep-size
	by_dma $kind 2M --rounds 4 --keep-size
done
