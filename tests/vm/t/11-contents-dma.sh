# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Contents survive moves in both directions by DMA, while threads write, and it is DMA that does it.
dcbm_on
set_knob default_channels 16
set_knob default_pages 4096
for kind in anon shmem; do
	for size in 4K 64K 2M; do
		count_from_here
		move --size $size --bytes 64M --rounds 4 --writers 2 --kind $kind
		show_counters
		dma=$(since pages_dma) cpu=$(since pages_cpu)
		at_least "share of DMA in percent ($kind $size)" $((100 * dma / (dma + cpu))) 95
	done
done
