# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# policy_fixed by bpftool alone: attached, seen to change the batch, and gone with its pin.
dcbm_on
register policy_fixed || fail "bpftool could not register policy_fixed"
same policy "$(policy)" policy_fixed
map=$(map_id fixed)
[ -n "$map" ] || fail "no map 'fixed': $(bpftool map show)"

# expect_batch WHAT PAGES
expect_batch() {
	trace_on mm_migrate_batch_start
	move --size 4K --bytes 32M --rounds 1
	same "batch_pages $1" "$(fields mm_migrate_batch_start batch_pages | sort -n | tail -n 1)" "$2"
	trace_off
}

# batch_pages depth nr_channels segment_bytes first_pages pad
set_fixed() {
	# shellcheck disable=SC2046
	run bpftool map update id "$map" key 0 0 0 0 value $(u32s "$@") || fail "bpftool map update"
}

expect_batch "of an empty map" 512
set_fixed 2048 1 8 0 0 0
expect_batch "as the map says" 2048
count_from_here
move --size 4K --bytes 32M
show_counters
dma=$(since pages_dma) cpu=$(since pages_cpu)
at_least "share of DMA in percent" $((100 * dma / (dma + cpu))) 95

# first_pages is a ramp: the first batch of the call only.
set_fixed 2048 1 8 0 64 0
trace_on mm_migrate_batch_start
move --size 4K --bytes 32M --rounds 1
same "the first batches" "$(fields mm_migrate_batch_start batch_pages | head -n 3 | xargs)" \
	"64 2048 2048"
trace_off

rm -rf $pins
wait_for 5 no_policy
expect_batch "without a policy" 512
