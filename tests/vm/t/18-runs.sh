# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Folios of order 0 that follow each other are moved in runs: side by side at the destination, with a
# descriptor for several of them, an event for each PTE, and correct for those who watch the mappings.

dcbm_on
mapfile -t channels < <(ptdma_channels)
set_knob default_channels 16
stream 32 4 0
# The first move may find its pages scattered; later ones find what the one before has left.
move --size 4K --bytes 32M --rounds 2
before=$(channel_interrupts)
count_from_here
move --size 4K --bytes 32M --rounds 4 --writers 1
show_counters
pages=$(since pages_dma)
at_least "pages copied by DMA" "$pages" 30000
got=$(($(channel_interrupts) - before))
echo "interrupts for $pages pages: $got"
# One a page without runs, one for eight where memory comes in blocks: which is so in part.
at_least "half of the pages" $((pages / 2)) "$got"

# An event for each PTE that goes and one for each that comes back, with its own address.
events=$tracing/events/migrate
: >$tracing/trace
echo 1 >$events/set_migration_pte/enable
echo 1 >$events/remove_migration_pte/enable
move --size 4K --bytes 1M --rounds 1
echo 0 >$events/set_migration_pte/enable
echo 0 >$events/remove_migration_pte/enable
for event in set_migration_pte remove_migration_pte; do
	same "addresses in $event" \
		"$(grep -o "$event: addr=[0-9a-f]*" $tracing/trace | sort -u | wc -l)" 256
done

# A virtual machine's processor writes to its pages through page tables of its own.
modprobe kvm_amd || fail "no module kvm_amd"
for channels in 0 16; do
	set_knob default_channels $channels
	count_from_here
	run kvm-guest --moves 20 || fail "the virtual machine's memory ($channels channels)"
	show_counters
done
modprobe -r kvm_amd
