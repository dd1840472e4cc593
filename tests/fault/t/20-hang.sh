# SPDX-License-Identifier: GPL-2.0-or-later
# vm: hang
# Every channel hangs at its 200th descriptor. The move ends all the same, its contents are right,
# the channels are given up, and nobody waits for them any more.
dcbm_on
echo 300 >/sys/module/dcbm/parameters/timeout_ms || fail "the time-out cannot be set"
set_knob default_channels 4
count_from_here
move --size 4K --bytes 16M --rounds 6 --writers 2
show_counters
cat /sys/kernel/dcbm/channels
at_least fallback_timeout "$(since fallback_timeout)" 1
at_least "channels given up" "$(grep -c ' dead ' /sys/kernel/dcbm/channels)" 1

# With the channels that are left, or with none.
move --size 64K --bytes 16M --rounds 2 --writers 2
stuck=$(ps -eo state,pid,comm | awk '$1 == "D"')
same "tasks that cannot be woken" "$stuck" ""

# Switching it off neither frees what the engine may still write to nor waits for ever.
echo 0 >/sys/kernel/dcbm/enabled || fail "dcbm cannot be switched off"
move --size 4K --bytes 8M --rounds 2
