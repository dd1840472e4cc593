# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# The engine is switched off and on under load: whoever asked for it gets the CPU meanwhile.
dcbm_on
set_knob default_channels 4
mover --size 4K --bytes 16M --rounds 0 --seconds 20 --writers 2 --report /run/mover.line &
pid=$!
for _ in 1 2 3 4 5 6; do
	sleep 0.7
	echo 0 >/sys/kernel/dcbm/enabled || fail "dcbm cannot be switched off"
	same provider "$(knob provider)" none
	sleep 0.3
	echo 1 >/sys/kernel/dcbm/enabled || fail "dcbm cannot be switched on"
done
kill -TERM $pid
wait $pid || fail "the mover ended with status $?: $(cat /run/mover.line)"
