# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Who may do what: members of the group read, root writes, others have no answer; a policy that
# somebody else may write is not loaded; no cgroup v1. And the live table on a terminal.
dcbm_on
daemon_config
useradd=$(grep -c '^migbatch:' /etc/group)
[ "$useradd" = 1 ] || systemd-sysusers || groupadd migbatch || fail "no group migbatch"
gid=$(sed -n 's/^migbatch:[^:]*:\([0-9]*\):.*/\1/p' /etc/group)
daemon_start
wait_for 20 status_is .policy.state attached

as() {
	setpriv --reuid 1000 --regid 1000 "$@"
}
same "mode of the socket" "$(stat -c '%a %g' /run/migbatch/daemon/control)" "660 $gid"
as --groups "$gid" migbatchctl -j explain /tight.slice | jq -e .findings >/dev/null ||
	fail "a member of the group may not read"
as --groups "$gid" migbatchctl -j metrics | jq -e .metrics >/dev/null ||
	fail "a member of the group may not read metrics"
! as --groups "$gid" migbatchctl target set /tight.slice 9ms || fail "a member of the group may write"
! as --groups "$gid" migbatchctl policy stop || fail "a member of the group may stop the policy"
as --clear-groups migbatchctl -j target list >/run/answer && fail "anybody may read"
echo "one who is in no group: $(cat /run/answer)"
same target "$(migbatchctl -j target list | jq '.targets[] | select(.path == "/tight.slice") | .target_ns')" 1000000
same policy "$(policy)" policy_target

# A policy is code of the kernel: nobody but root may have written it.
dir=/run/policies
mkdir -p $dir
cp "$(object policy_fixed)" "$(object policy_target)" "$(object observe)" $dir
sed -i "s|^Policy=policy_target|&\nPolicyDir=$dir|" /etc/migbatch/migbatchd.conf
run systemctl reload migbatchd.service || fail "reload"
chmod o+w $dir/policy_fixed.bpf.o
! run migbatchctl policy switch policy_fixed || fail "a policy that anybody may write was loaded"
chmod o-w $dir/policy_fixed.bpf.o && chown 1000 $dir/policy_fixed.bpf.o
! run migbatchctl policy switch policy_fixed || fail "a policy of another user was loaded"
rm $dir/policy_fixed.bpf.o && ln -s "$(object policy_fixed)" $dir/policy_fixed.bpf.o
! run migbatchctl policy switch policy_fixed || fail "a symbolic link was followed"
same policy "$(policy)" policy_target
rm $dir/policy_fixed.bpf.o && cp "$(object policy_fixed)" $dir
run migbatchctl policy switch policy_fixed || fail "a policy of root's was not loaded"
run migbatchctl policy switch policy_target || fail "switch back"

# The live table: drawn, drawn again in place, the cursor back at the end.
run migbatchctl target set /bulk.slice 'target=20ms signal=blackout' || fail "target set"
in_cgroup bulk.slice mover --size 64K --bytes 32M --rounds 0 --seconds 20 >/run/mover.line &
script -qec 'stty rows 10 cols 150; migbatchctl top -d 1 -n 3' /run/top.out >/dev/null || fail "top"
wait $! || fail "the mover: $(cat /run/mover.line)"
tr '\033' '^' </run/top.out
same "times the screen was drawn" "$(grep -c '\[HCGROUP' /run/top.out)" 3
grep -q 'P50 .*P99 .*BATCH DEPTH  CH ' /run/top.out || fail "columns are missing"
grep -q '/bulk.slice  *20.0ms blackout ' /run/top.out || fail "the row has no target of blackout"
tail -n 3 /run/top.out | grep -qF "$(printf '\033[?25h')" || fail "the cursor stayed away"
p99=$(migbatchctl -j explain /bulk.slice | jq 'select(.measured.signal == "blackout") | .measured.p99_ns')
at_least "P99 of blackouts, ns" "${p99:-0}" 1

# What tasks wait is judged by the observer: the policy takes it for first-folio delay.
run migbatchctl target set /bulk.slice 'target=20ms signal=wait' || fail "target set"
migbatchctl explain /bulk.slice | grep -F 'the policy cannot see what tasks wait' ||
	fail "explain does not say how waits are bounded"
run systemctl stop migbatchd.service

# No cgroup2, no targets: said at once, with what to do.
mkdir -p /run/nocgroup
/usr/sbin/migbatchd --cgroup-root /run/nocgroup >/run/err 2>&1 && fail "started without cgroup2"
grep -F -- --cgroup-root /run/err || fail "no advice: $(cat /run/err)"
rm -r $dir /run/nocgroup
