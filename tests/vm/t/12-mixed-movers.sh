# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Several movers at once share the channels: contents stay right, nobody waits for ever.
dcbm_on
set_knob default_channels 8
set_knob default_pages 2048
pids=()
for seed in 1 2 3; do
	mover --size 4K --bytes 16M --rounds 6 --writers 1 --seed $seed --call 4M &
	pids+=($!)
done
mover --size 2M --bytes 32M --rounds 6 --writers 1 --seed 9 &
pids+=($!)
for pid in "${pids[@]}"; do
	wait "$pid" || fail "a mover ended with status $?"
done
