# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Untouched, the kernel keeps no books and does what vanilla does; each setting is checked.
same policy "$(policy)" none
same default_pages "$(knob default_pages)" 0
same default_channels "$(knob default_channels)" 0
same default_depth "$(knob default_depth)" 0
same default_segment "$(knob default_segment)" 0
count_from_here
move --size 4K --bytes 8M
same "batches counted with the books closed" "$(since batches)" 0

dcbm_on
for file in max_pages=0 max_pages=262145 max_channels=257 default_pages=262145 \
	default_channels=257 default_depth=17 default_segment=1073741825 reasons=0x10000 \
	default_pages=many; do
	! (echo "${file#*=}" >$mb/${file%=*}) 2>/dev/null || fail "$file was accepted"
done

# The administrator's reasons keep move_pages() (value 4) from the engine.
set_knob default_channels 4
reasons=$(knob reasons)
set_knob reasons 0
count_from_here
move --size 4K --bytes 8M
same "pages by DMA with no reason allowed" "$(since pages_dma)" 0
set_knob reasons "$reasons"
count_from_here
move --size 4K --bytes 8M
at_least "pages by DMA with the reasons back" "$(since pages_dma)" 3800
