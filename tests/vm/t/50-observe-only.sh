# SPDX-License-Identifier: GPL-2.0-or-later
# vm: vanilla stock
# On a kernel without the series the daemon measures first-folio delay, and says that it does no more.
[ -r /sys/kernel/btf/vmlinux ] || fail "this kernel has no BTF"
daemon_config
daemon_start
wait_for 30 status_is .observer.running true
migbatchctl status
same "on what an unpatched kernel has" "$(status_of .observer.plain)" true
[ "$(status_of .kernel_advice)" != null ] || fail "the status does not say what the kernel lacks"
in_cgroup tight.slice mover --size 4K --bytes 8M --rounds 4 || fail "the mover failed"
sleep 1
run migbatchctl hist /tight.slice || fail "hist"
count=$(migbatchctl -j hist /tight.slice |
	jq '[.. | objects | select(.metric? == "first") | .count] | add')
at_least "batches whose first folio was timed" "$count" 4
! migbatchctl policy switch policy_fixed || fail "a policy could be switched on"
run systemctl stop migbatchd.service || fail "systemctl stop"
