# SPDX-License-Identifier: GPL-2.0-or-later
# vm: errors torn disorder
# Errors and disorder in a stream: parts of a folio fail or come late, and only whole copies count.
dcbm_on
set_knob default_channels 8
for kind in anon shmem; do
	for size in 4K 64K 2M; do
		stream 128 4 16384
		[ $size != 2M ] || stream 512 2 65536
		count_from_here
		move --size "$size" --bytes 16M --rounds 6 --writers 2 --kind $kind
		show_counters
		same fallback_timeout "$(since fallback_timeout)" 0
		# shellcheck disable=SC2154
		if [ "$group" = disorder ]; then
			same fallback_error "$(since fallback_error)" 0
			at_least "pages by DMA ($kind $size)" "$(since pages_dma)" 20000
		else
			at_least fallback_error "$(since fallback_error)" 10
			at_least "pages by DMA ($kind $size)" "$(since pages_dma)" 1000
		fi
	done
done
