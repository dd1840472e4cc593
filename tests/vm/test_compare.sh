#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests of the comparison itself, without a guest: a difference must be seen, whatever it is, and only
# what is named as better may be. Prints `ok NAME` or `FAIL NAME` for each, as run-all does.
#
# usage: test_compare.sh
set -u

here=$(dirname "$(readlink -f "$0")")
MIGBATCH_BUILD=$(mktemp -d)
export MIGBATCH_BUILD
trap 'rm -rf "$MIGBATCH_BUILD"' EXIT
mkdir "$MIGBATCH_BUILD/vm"
bad=0

# console WHICH: what a guest prints, with the lines of stdin as its only state.
console() {
	{
		echo 'rmap-now: made-up 64K (1.00 s)'
		sed 's/^/rmap: made-up 64K /'
		echo 'rmap-done'
	} >"$MIGBATCH_BUILD/vm/rmap-$1.log"
}

# both TEXT: the same for either kernel.
both() {
	console 0-vanilla <<<"$1"
	console 1-patched <<<"$1"
}

# expect NAME WANT [OPTION...]: WANT is what the line of the state, or of the boot, starts with.
expect() {
	local name=$1 want=$2 got=0 status
	shift 2

	case $want in FAIL*) status=1 ;; skip*) status=1 ;; *) status=0 ;; esac
	"$here/compare" --keep "$@" >"$MIGBATCH_BUILD/out" 2>&1 || got=$?
	if grep -q "^$want" "$MIGBATCH_BUILD/out" && [ $got -eq $status ]; then
		echo "ok compare/$name"
	else
		echo "FAIL compare/$name"
		echo "  wanted '$want' and status $status, got status $got:"
		sed 's/^/  | /' "$MIGBATCH_BUILD/out"
		bad=1
	fi
}

state='rmap-equal/made-up'
end='end signal=0 status=0'
lines() {
	printf '%s\n' "$@" "$end"
}

both "$(lines 'before map=4xpd folios=4x64K' 'back map=4xpd folios=64x4K')"
expect equal "ok $state"

console 1-patched <<<"$(lines 'before map=4xpd folios=4x64K' 'back map=3xpd,p folios=64x4K')"
expect other-value "FAIL $state"

console 1-patched <<<"$(lines 'before map=4xpd folios=4x64K' 'back folios=64x4K')"
expect value-missing "FAIL $state"

console 1-patched <<<"$(lines 'before map=4xpd folios=4x64K' 'back map=4xpd folios=64x4K thp_split_pmd=+1')"
expect value-more "FAIL $state"

console 1-patched <<<"$(lines 'before map=4xpd folios=4x64K')"
expect phase-missing "FAIL $state"

console 1-patched <<<"before map=4xpd folios=4x64K
back map=4xpd folios=64x4K"
expect not-over "FAIL $state"

console 1-patched <<<"$(lines 'before map=4xpd folios=4x64K' 'back map=4xpd folios=4x64K')"
expect fewer-folios "ok $state"
expect fewer-folios-exact "FAIL $state" --exact

console 1-patched <<<"$(lines 'before map=4xpd folios=4x64K' 'back map=4xpd folios=65x4K')"
expect more-folios "FAIL $state"

# Better in one phase must not hide worse in the next.
console 0-vanilla <<<"$(lines 'out 64K.split=+1 64K.nr_anon=+1' 'back 64K.split=+3 64K.nr_anon=-1')"
console 1-patched <<<"$(lines 'out 64K.split=+1 64K.nr_anon=+1' 'back 64K.nr_anon=+1')"
expect fewer-splits "ok $state"
console 1-patched <<<"$(lines 'out 64K.nr_anon=+1' 'back 64K.split=+5 64K.nr_anon=-1')"
expect more-splits-in-all "FAIL $state"

both "$(lines 'kept faults=4x. contents=4xa wrong=1')"
expect wrong-contents "FAIL $state"

end='end signal=11 status=-1'
both "$(lines 'before map=4xpd')"
expect both-crashed "FAIL $state"

end='end signal=0 status=1'
both "$(lines 'setup failed=folios_of_1_pages')"
expect both-without-setup "FAIL $state"

both "$(lines 'setup unsupported=this_kernel_has_none')"
expect both-unsupported "skip $state: this kernel has none"
console 1-patched <<<"$(lines 'before map=4xpd')"
expect one-unsupported "FAIL $state"

end='end signal=0 status=0'
both "$(lines 'before map=4xpd')"
sed -i '/^rmap-done/d' "$MIGBATCH_BUILD/vm/rmap-1-patched.log"
expect died 'FAIL rmap-equal/boot-patched'

exit $bad
