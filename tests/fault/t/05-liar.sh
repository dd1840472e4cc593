# SPDX-License-Identifier: GPL-2.0-or-later
# vm: liar
# A test of the tests: an engine that writes some time after it said that it was done defeats any
# driver. The mover must notice, or its other verdicts would mean nothing.
dcbm_on
set_knob default_channels 8
set_knob default_pages 2048
out=$(mover --size 2M --bytes 32M --rounds 20 --writers 2 2>&1)
status=$?
tail -n 5 <<<"$out"
same "status of the mover" $status 1
grep -q 'result=bad.* wrong=[1-9]' <<<"$out" || fail "wrong contents went unnoticed"
