# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# "I set a limit and nothing happens": explain names each cause on the live system, and what to do.
dcbm_on
daemon_config
conf=/etc/migbatch/migbatchd.conf

first_of() {
	jq -r '.findings[0] | .kind + " " + .code'
}
# explained CGROUP FINDING: waits until its first finding is this one.
explained() {
	local left=100 seen=''
	until seen=$(migbatchctl -j explain "$1") && [ "$(first_of <<<"$seen")" = "$2" ]; do
		[ $((left -= 1)) != 0 ] || fail "the first finding of $1 is not '$2': $seen"
		sleep 0.2
	done
	migbatchctl explain "$1" || fail "explain $1"
	echo "$1: $2"
}
has_finding() {
	migbatchctl -j explain "$1" |
		jq -e --arg code "$2" 'any(.findings[]; .code == $code)' >/dev/null
}

# Mode observe: the usual first surprise.
sed -i 's/^Mode=control/Mode=observe/' $conf
daemon_start
explained /tight.slice 'obstacle mode'
migbatchctl explain /tight.slice | grep -F "from:     file, $conf:" ||
	fail "the target's file and line are not named"

# A foreign policy.
run bpftool struct_ops register "$(object policy_fixed)" /sys/fs/bpf/other || fail "register"
sed -i 's/^Mode=observe/Mode=control/' $conf
run systemctl reload migbatchd.service || fail "reload"
explained /tight.slice 'obstacle policy-foreign'
rm -rf /sys/fs/bpf/other
wait_for 20 status_is .policy.state attached

# All there, and nothing migrated.
explained /tight.slice 'note no-samples'
! migbatchctl explain /no.such.slice || fail "a cgroup that is not there was explained"

# Batches: the last decision is told.
in_cgroup tight.slice mover --size 4K --bytes 16M --rounds 4 || fail "the mover failed"
has_finding /tight.slice target || has_finding /tight.slice all-fits ||
	has_finding /tight.slice cpu-pages || has_finding /tight.slice kernel-max-pages ||
	fail "no limit is named: $(migbatchctl -j explain /tight.slice)"
at_least samples "$(migbatchctl -j explain /tight.slice | jq .decision.samples)" 1
at_least "batches measured" "$(migbatchctl -j explain /tight.slice | jq .measured.batches)" 1

# A target that not even one folio can meet.
run migbatchctl target set /tight.slice 'target=2us' || fail "target set"
in_cgroup tight.slice mover --size 2M --bytes 16M --rounds 8 || fail "the mover failed"
explained /tight.slice 'limit one-folio'
run migbatchctl target unset /tight.slice

# The daemon's own ceiling.
sed -i 's/^Policy=policy_target/&\nMaxPages=16/' $conf
run systemctl reload migbatchd.service || fail "reload"
run migbatchctl target set /tight.slice 'target=1s' || fail "target set"
# While it moves: the end of a list is smaller than any ceiling.
in_cgroup tight.slice mover --size 4K --bytes 64M --rounds 0 --seconds 15 >/run/mover.line &
explained /tight.slice 'limit max-pages'
migbatchctl explain /tight.slice | grep -F "MaxPages=16 ($conf:" ||
	fail "the ceiling's file and line are not named"
wait $! || fail "the mover: $(cat /run/mover.line)"

# Stopped by hand, and a policy that takes no targets.
run migbatchctl policy stop || fail "policy stop"
explained /tight.slice 'obstacle policy-stopped'
run migbatchctl policy switch policy_fixed || fail "policy switch"
explained /tight.slice 'obstacle policy-without-targets'
run systemctl stop migbatchd.service
