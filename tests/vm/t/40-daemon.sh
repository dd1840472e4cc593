# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# The daemon under systemd: it attaches the policy, resolves the targets, measures, and takes all of
# it back when it is stopped.
dcbm_on
daemon_config
daemon_start
wait_for 20 status_is .policy.state attached
migbatchctl status
migbatchctl -j status | jq . || fail "status -j is no JSON"
same policy "$(policy)" policy_target
same mode "$(status_of .mode)" control
same targets "$(status_of .targets)" 2

# The figures of a cgroup with a target.
in_cgroup tight.slice mover --size 4K --bytes 16M --rounds 4 || fail "the mover failed"
run migbatchctl target list || fail "target list"
run migbatchctl hist /tight.slice || fail "hist"
moved=$(migbatchctl -j hist /tight.slice |
	jq '[.. | objects | select(has("moved_pages")) | .moved_pages] | add')
at_least "pages moved, as measured" "$moved" 16384

run migbatchctl target set /tight.slice 'target=2ms pct=95' || fail "target set"
migbatchctl -j target list | jq -e '[.. | objects | select(.path? == "/tight.slice") | .target_ns] ==
	[2000000]' >/dev/null || fail "the target that was set is not listed: $(migbatchctl -j target list)"
run migbatchctl target unset /tight.slice || fail "target unset"
run migbatchctl check || fail "check"
run migbatchctl version || fail "version"

run systemctl stop migbatchd.service || fail "systemctl stop"
same policy "$(policy)" none
[ -z "$(find $pins -type f 2>/dev/null)" ] || fail "pins are left: $(find $pins)"
