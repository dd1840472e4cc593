# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# There is one policy at a time: a second one is refused, the first one stays.
register policy_fixed || fail "bpftool could not register policy_fixed"
out=$(bpftool struct_ops register "$(object policy_target)" $pins/second 2>&1) &&
	fail "a second policy was accepted: $out"
echo "$out"
grep -qi busy <<<"$out" || fail "refused, but not for being busy"
same policy "$(policy)" policy_fixed
# Without a link there is nothing that would take it away again.
unpin_policies
wait_for 5 no_policy
