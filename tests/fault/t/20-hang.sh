# SPDX-License-Identifier: GPL-2.0-or-later
# vm: hang
# Every channel hangs at its 200th descriptor. The move ends all the same, its contents are right,
# the channels are given up, and nobody waits for them any more. Only what a channel may still write
# to stays where it is: those folios are held until there is proof that it cannot.
dcbm_on
echo 300 >/sys/module/dcbm/parameters/timeout_ms || fail "the time-out cannot be set"
set_knob default_channels 4
count_from_here
move --size 4K --bytes 16M --rounds 6 --writers 2 --may-stay
show_counters
cat /sys/kernel/dcbm/channels
lost=$(awk '{ n += $NF } END { print n + 0 }' /sys/kernel/dcbm/channels)
at_least "pages that are held" "$lost" 1
at_least "pages held or where they should be" $((lost + 4096 - $(moved_value elsewhere) / 7)) 4096
at_least fallback_timeout "$(since fallback_timeout)" 1
at_least "channels given up" "$(grep -c ' dead ' /sys/kernel/dcbm/channels)" 1

# With the channels that are left, or with none.
move --size 64K --bytes 16M --rounds 2 --writers 2
stuck=$(ps -eo state,pid,comm | awk '$1 == "D"')
same "tasks that cannot be woken" "$stuck" ""

# Switching it off neither frees what the engine may still write to nor waits for ever.
echo 0 >/sys/kernel/dcbm/enabled || fail "dcbm cannot be switched off"
move --size 4K --bytes 8M --rounds 2 --writers 2
move --size 2M --bytes 16M --rounds 2 --writers 2
