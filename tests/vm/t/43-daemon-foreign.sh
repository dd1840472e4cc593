# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# A policy of somebody else is reported and left alone.
run bpftool struct_ops register "$(object policy_fixed)" /sys/fs/bpf/other || fail "register"
daemon_config
daemon_start
wait_for 20 status_is .policy.state foreign
migbatchctl status
same policy "$(policy)" policy_fixed
run systemctl stop migbatchd.service
same policy "$(policy)" policy_fixed
rm -rf /sys/fs/bpf/other
wait_for 5 no_policy
