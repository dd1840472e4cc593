# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Ten thousand cgroups, a thousand of them with a target that they miss: the daemon is not busy, and
# the log is not drowned.
daemon_config
cat >>/etc/migbatch/migbatchd.conf <<-'END'
[Target /many/m*/c?]
Target=1ms
END
cg=/sys/fs/cgroup/many
mkdir $cg
for m in $(seq 100); do
	mkdir $cg/m$m
	(cd $cg/m$m && mkdir c{0..99})
done
daemon_start
wait_for 60 status_is .policy.state attached
wait_for 60 status_is .targets 1002
at_least "cgroups" "$(status_of .cgroups)" 10000
pid=$(systemctl show -P MainPID migbatchd.service)

# Ticks of 10 ms that the daemon ran, user and system.
ticks() {
	awk '{ print $14 + $15 }' "/proc/$pid/stat"
}
# busy SECONDS BOUND COMMAND: runs the command for so long; in percent of a processor.
busy() {
	local before=$(ticks) end=$((SECONDS + $1)) share
	while [ $SECONDS -lt $end ]; do
		"${@:3}"
	done
	share=$((($(ticks) - before) / $1))
	[ "$share" -le "$2" ] || fail "the daemon takes $share % of a processor, more than $2 ($3)"
	echo "of a processor ($3): $share % (at most $2)"
}
come_and_go() {
	mkdir $cg/m1/new $cg/new
	sleep 0.3
	rmdir $cg/m1/new $cg/new
}
# Generous: the guest is emulated, ten times slower than what it stands for.
busy 20 15 sleep 1
busy 20 30 come_and_go
mkdir $cg/m1/late
is_known() {
	migbatchctl -j explain /many/m1/late
}
wait_for 30 is_known

# A thousand cgroups that miss: what a policy would have counted is written for it, since a thousand
# migrations take an hour here.
ids=$(stat -c %i $cg/m*/c?)
decide() {
	local id
	for id in $ids; do
		# when, target, whose, predicted, last, samples, misses; pages and so on, limit: target
		echo "map update pinned $pins/decisions key $(u64s "$id") value" \
			"$(u64s 1 1000000 "$id" 1 1 "$1" "$2") $(u32s 16 0 1 0 1 0 0 0)"
	done >/run/decisions
	bpftool batch file /run/decisions >/dev/null || fail "bpftool batch"
}
lines() {
	journalctl -u migbatchd "MIGBATCH_EVENT=$1" --no-pager -o cat | wc -l
}
decide 10 0
sleep 2
decide 60 50
wait_for 60 status_is .missing 1000
sleep 12
at_least "lines that a miss began" "$(lines target-missed)" 1
at_least "at most 60 lines of misses" 60 "$(lines target-missed)"
at_least "lines that sum up" "$(lines held-back)" 1
journalctl -u migbatchd MIGBATCH_EVENT=held-back --no-pager -o cat
at_least "at most 150 lines in all" 150 "$(journalctl -u migbatchd --no-pager -o cat | wc -l)"

# It ends for all: each beginning that was told has its end.
decide 5000 50
wait_for 60 status_is .missing 0
all_told() {
	[ "$(lines target-met)" -ge "$(lines target-missed)" ]
}
# The journal is written some time after the daemon's answer.
wait_for 30 all_told
same "ends of misses" "$(lines target-met)" "$(lines target-missed)"
metrics=$(migbatchctl metrics | tee /run/metrics | prom-check) || fail "metrics: $metrics"
echo "metrics: $metrics"
run systemctl stop migbatchd.service
find $cg -depth -type d -exec rmdir {} +
