# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Policies are swapped without a moment of default in between.
daemon_config
daemon_start
wait_for 20 status_is .policy.state attached
run migbatchctl policy list || fail "policy list"
touch /run/watch-policy
(
	while [ -e /run/watch-policy ]; do
		policy
	done >/run/policies
) &
for name in policy_fixed policy_target policy_fixed policy_target; do
	run migbatchctl policy switch $name || fail "switch to $name"
	same policy "$(policy)" $name
done
rm /run/watch-policy
wait
! grep -q '^none$' /run/policies || fail "the default was in force in between"
run migbatchctl policy stop || fail "policy stop"
same policy "$(policy)" none
same "state" "$(status_of .policy.state)" off
