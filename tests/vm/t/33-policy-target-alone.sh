# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# policy_target without the daemon: targets by bpftool bound the batches of their cgroups only.
dcbm_on
register policy_target || fail "bpftool could not register policy_target"
same policy "$(policy)" policy_target
targets=$(map_id targets)
[ -n "$targets" ] || fail "no map 'targets': $(bpftool map show)"
cd /sys/fs/cgroup || exit
mkdir bounded.slice free.slice
echo +memory >cgroup.subtree_control
echo +memory >bounded.slice/cgroup.subtree_control
mkdir bounded.slice/below
cd - >/dev/null || exit

# target_ns pct_milli scale_milli, keyed by cgroup id: below has none of its own.
id=$(stat -c %i /sys/fs/cgroup/bounded.slice)
set_target() {
	# shellcheck disable=SC2046
	run bpftool map update id "$targets" key $(u64s "$id") value $(u64s "$1") $(u32s 99000 1000) ||
		fail "bpftool map update"
}

# The median of a field over the later batches of some moves, by when the model has learned.
median_of() {
	fields mm_migrate_batch_end "$1" | tail -n +9 | sort -n |
		awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# move_in CGROUP: sets $median, pages of a batch, and $first, its first-folio delay.
move_in() {
	trace_on mm_migrate_batch_end
	in_cgroup "$1" mover --size 4K --bytes 16M --rounds 4 || fail "the mover in $1 failed"
	median=$(median_of moved)
	first=$(median_of first_ns)
	[ -n "$median" ] || fail "no batches were traced"
	trace_off
}

# A target that nothing reaches in batches of 512 pages, then one that a quarter of such a batch
# keeps on this host: without a virtual clock a page takes 5 to 100 us.
max_pages=$(<$mb/max_pages)
set_knob max_pages 512
set_target 10000000000
move_in bounded.slice/below
# By now it has learned how large a batch may be.
move_in bounded.slice/below
wide=$median
tight=$((first / 4))
set_target $tight
move_in bounded.slice/below
narrow=$median
move_in free.slice
free=$median
echo "median batch in pages: target 10 s $wide, target $tight ns $narrow, no target $free"
[ "$narrow" -lt "$wide" ] || fail "a tighter target did not make smaller batches"
at_least "batch of the cgroup without a target" "$free" "$narrow"
set_knob max_pages "$max_pages"
unpin_policies
wait_for 5 no_policy
rmdir /sys/fs/cgroup/bounded.slice/below /sys/fs/cgroup/bounded.slice /sys/fs/cgroup/free.slice
