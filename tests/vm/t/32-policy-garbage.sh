# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# A policy that returns garbage is clamped, and ejected when it goes on.
dcbm_on
register policy_fault || fail "bpftool could not register policy_fault"
# 2 is MB_FAULT_ONES: all bits of all values are 1.
# shellcheck disable=SC2046
run bpftool map update id "$(map_id fault)" key 0 0 0 0 value $(u32s 2) || fail "bpftool map update"
count_from_here
move --size 4K --bytes 64M --rounds 8 --call 1M
show_counters
at_least "clamped values" "$(since clamped)" 32
same "ejected policies" "$(since ejected)" 1
wait_for 5 no_policy
dmesg | grep 'migrate_batch: policy .* ejected' || fail "the kernel's log does not say why"
# The defaults are in force, and the next policy is welcome.
unpin_policies
register policy_fixed || fail "no policy can be attached after the ejection"
same policy "$(policy)" policy_fixed
