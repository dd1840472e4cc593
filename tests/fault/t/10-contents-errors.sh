# SPDX-License-Identifier: GPL-2.0-or-later
# vm: errors torn disorder
# Whatever the engine fails, the CPU copies: contents are right, and each failure is counted.
dcbm_on
set_knob default_channels 8
set_knob default_pages 2048
for kind in anon shmem; do
	for size in 4K 64K 2M; do
		count_from_here
		move --size "$size" --bytes 16M --rounds 4 --writers 2 --kind $kind
		show_counters
		at_least "pages by DMA ($kind $size)" "$(since pages_dma)" 500
	done
done
cat /sys/kernel/dcbm/channels
errors=$(awk '{ for (i = 1; i < NF; i++) if ($i == "errors") n += $(i + 1) } END { print n + 0 }' \
	/sys/kernel/dcbm/channels)
# shellcheck disable=SC2154
if [ "$group" = disorder ]; then
	same "errors of an engine that makes none" "$errors" 0
	same fallback_error "$(counter fallback_error)" 0
else
	at_least "descriptors that the engine failed" "$errors" 10
	at_least fallback_error "$(counter fallback_error)" 10
fi
same fallback_timeout "$(counter fallback_timeout)" 0
