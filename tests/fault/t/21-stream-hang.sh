# SPDX-License-Identifier: GPL-2.0-or-later
# vm: hang-stream
# Channels that hang with parts of folios in flight: a folio is lost as a whole, and moved by nobody,
# while its other parts come back and the rest of the stream goes on.
dcbm_on
echo 300 >/sys/module/dcbm/parameters/timeout_ms || fail "the time-out cannot be set"
set_knob default_channels 4
stream 512 2 65536
count_from_here
move --size 2M --bytes 32M --rounds 8 --writers 2 --may-stay
show_counters
cat /sys/kernel/dcbm/channels
at_least fallback_timeout "$(since fallback_timeout)" 512
at_least "channels given up" "$(grep -c ' dead ' /sys/kernel/dcbm/channels)" 1
stream 32 4 0
move --size 4K --bytes 16M --rounds 2 --writers 2 --may-stay
stuck=$(ps -eo state,pid,comm | awk '$1 == "D"')
same "tasks that cannot be woken" "$stuck" ""
echo 0 >/sys/kernel/dcbm/enabled || fail "dcbm cannot be switched off"
move --size 4K --bytes 8M --rounds 2 --writers 2
