# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# The provider and the engine's driver are loaded and unloaded under load.
dcbm_on
set_knob default_channels 4
mover --size 64K --bytes 32M --rounds 0 --seconds 60 --writers 2 --report /run/mover.line &
pid=$!
for n in 1 2 3 4 5; do
	sleep 0.7
	run rmmod dcbm || fail "rmmod dcbm, time $n"
	same provider "$(knob provider)" none
	run rmmod ptdma || fail "rmmod ptdma, time $n"
	run modprobe ptdma || fail "modprobe ptdma, time $n"
	run modprobe dcbm || fail "modprobe dcbm, time $n"
	echo 1 >/sys/kernel/dcbm/enabled || fail "dcbm cannot be enabled, time $n"
done
kill -TERM $pid
wait $pid || fail "the mover ended with status $?: $(cat /run/mover.line)"
