# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Killed without warning, the daemon leaves a policy that is right on its own; systemd starts the
# daemon again, which takes that policy over.
dcbm_on
daemon_config
daemon_start
wait_for 20 status_is .policy.state attached
mover --size 4K --bytes 16M --rounds 0 --seconds 120 --writers 1 --report /run/mover.line &
mover_pid=$!

for n in 1 2; do
	pid=$(systemctl show -P MainPID migbatchd.service)
	run kill -KILL "$pid"
	echo "policy right after kill $n: $(policy)"
	restarted() {
		local now
		now=$(systemctl show -P MainPID migbatchd.service)
		[ "$now" != 0 ] && [ "$now" != "$pid" ]
	}
	wait_for 30 restarted
	wait_for 30 status_is .policy.state attached
	same policy "$(policy)" policy_target
	same adopted "$(status_of .policy.adopted)" true
done
kill -0 $mover_pid || fail "the mover ended meanwhile: $(cat /run/mover.line)"
kill -TERM $mover_pid
wait $mover_pid || fail "the mover: $(cat /run/mover.line)"

run systemctl stop migbatchd.service
same policy "$(policy)" none
