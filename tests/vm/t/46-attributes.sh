# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Targets from attributes of a cgroup's directory: who goes before whom, the bounds of what an owner
# may ask, and all of it noticed while it changes. Cgroups come and go meanwhile.
daemon_config
cat >>/etc/migbatch/migbatchd.conf <<-'END'
[Daemon]
UserTargetMin=500us
UserTargetMax=5ms
END
daemon_start
wait_for 20 status_is .policy.state attached
cg=/sys/fs/cgroup
mkdir $cg/own $cg/own/child

effective() {
	migbatchctl -j explain "$1" | jq -r '[.target.source, .target.target_ns, .target.signal] | join(" ")'
}
effective_is() {
	[ "$(effective "$1")" = "$2" ]
}
becomes() {
	wait_for 10 effective_is "$1" "$2"
	echo "$1: $2"
}

becomes /own 'none 0 first'
run xattr $cg/own user.migbatch.target 'target=2ms pct=95 signal=blackout' || fail "xattr"
becomes /own 'user 2000000 blackout'
becomes /own/child 'user 2000000 blackout'
# What the owner may not have.
run xattr $cg/own user.migbatch.target 'target=10us'
becomes /own 'user 500000 first'
run xattr $cg/own user.migbatch.target 'target=none'
becomes /own 'user 5000000 first'
# What is no target is told, and counts for nothing.
run xattr $cg/own user.migbatch.target 'fast please'
becomes /own 'none 0 first'
daemon_journal | grep 'user.migbatch.target.*fast' || fail "the journal does not tell of it"
run xattr $cg/own user.migbatch.target 'target=2ms'
becomes /own 'user 2000000 first'

# A section of the file goes before it, root's attribute before both, an order before all.
printf '[Target /ow*]\nTarget=3ms\n' >>/etc/migbatch/migbatchd.conf
run systemctl reload migbatchd.service
becomes /own 'file 3000000 first'
run xattr $cg/own trusted.migbatch.target 'target=4ms'
becomes /own 'trusted 4000000 first'
run migbatchctl target set /own 6ms || fail "target set"
becomes /own 'cli 6000000 first'
# The tightest ancestor bounds, whoever asked.
run migbatchctl target set /own/child 9ms || fail "target set"
becomes /own/child 'cli 6000000 first'
run migbatchctl target unset /own
run xattr $cg/own trusted.migbatch.target
becomes /own 'file 3000000 first'

# A user may write his own cgroup's attribute, and no trusted one.
mkdir $cg/user && chown 1000 $cg/user
setpriv --reuid 1000 --clear-groups xattr $cg/user user.migbatch.target target=3ms ||
	fail "an owner may not write user.*"
becomes /user 'user 3000000 first'
! setpriv --reuid 1000 --clear-groups xattr $cg/user trusted.migbatch.target target=1ms ||
	fail "an owner may write trusted.*"

# What follows the id: a new cgroup of the same name has none of the old one's.
rmdir $cg/user && mkdir $cg/user
becomes /user 'none 0 first'
for n in $(seq 20); do
	mkdir $cg/come-$n
	xattr $cg/come-$n user.migbatch.target target=3ms
done
becomes /come-20 'user 3000000 first'
same "entries in the policy's map" "$(bpftool map dump pinned $pins/targets |
	grep -c '"key"\|key:')" 24
rmdir $cg/come-*
gone() {
	[ "$(bpftool map dump pinned $pins/targets | grep -c '"key"\|key:')" = 4 ]
}
wait_for 20 gone
run systemctl stop migbatchd.service
rmdir $cg/own/child $cg/own $cg/user
