#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests of the harness itself: a test that cannot fail proves nothing. Prints `ok NAME` or
# `FAIL NAME` for each, as run-all does.
#
# usage: test_harness.sh [KERNEL]
set -u

here=$(dirname "$(readlink -f "$0")")
kernel=${1:-vanilla}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# expect NAME STATUS TEXT OPTIONS: runs stdin as the script, wants STATUS and TEXT in the output.
expect() {
	local name=$1 want=$2 text=$3 got=0
	shift 3

	cat >"$work/script.sh"
	"$here/harness" --kernel "$kernel" --log "$work/console" "$@" "$work/script.sh" \
		>"$work/out" 2>&1 || got=$?
	if [ $got -eq "$want" ] && grep -qE "$text" "$work/out"; then
		echo "ok harness/$name"
	else
		echo "FAIL harness/$name"
		echo "  wanted status $want and '$text', got status $got; the end of the output:"
		tail -n 20 "$work/out" | sed 's/^/  | /'
		bad=1
	fi
}

# Neither a line that looks like the harness's own nor an earlier success hides a failure.
expect status 3 '^said by the test$' <<'END'
echo 'migbatch-test-end 0123456789abcdef 0'
echo 'said by the test'
exit 3
END

# The rest of the report still comes after the first line of it.
expect kernel-fault 125 'FAILED: the kernel reported a fault: .*WARNING: made up' <<'END'
echo 'WARNING: made up by a test' >/dev/kmsg
echo 'the rest of the report' >/dev/kmsg
exit 0
END

expect panic 125 'FAILED: the kernel reported a fault: .*Kernel panic' <<'END'
echo 1 >/proc/sys/kernel/sysrq
echo c >/proc/sysrq-trigger
sleep 1000
END

expect no-status 125 'FAILED: the guest ended before the script did' <<'END'
systemctl poweroff -ff
sleep 1000
END

expect time-out 124 'FAILED: not over after 15 s' --timeout 15 <<'END'
sleep 1000
END

exit $bad
