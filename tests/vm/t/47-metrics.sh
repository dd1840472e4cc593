# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# What is exported: well-formed, true to what moved, bounded in number, in a file that is replaced as
# a whole and gone with the daemon.
dcbm_on
daemon_config
prom=/run/textfile/migbatch.prom
mkdir -p ${prom%/*} /run/systemd/system/migbatchd.service.d
printf '[Service]\nReadWritePaths=%s\n' ${prom%/*} >/run/systemd/system/migbatchd.service.d/metrics.conf
systemctl daemon-reload
sed -i "s|^Mode=control|&\nMetricsFile=$prom\nMetricsCgroups=4|" /etc/migbatch/migbatchd.conf
daemon_start
wait_for 20 status_is .policy.state attached
in_cgroup tight.slice mover --size 4K --bytes 16M --rounds 4 || fail "the mover failed"

metrics() {
	migbatchctl metrics
}
value() {
	metrics | grep -v "^#" | grep -F "$1 " | sed 's/.* //'
}
metrics >/run/metrics || fail "metrics"
prom-check </run/metrics || fail "not as the format wants it"
migbatchctl -j metrics | jq -j .metrics | prom-check || fail "not so with -j"
same "targets" "$(value migbatch_targets)" 2
same "mode" "$(value 'migbatch_mode{mode="control"}')" 1
same "policy" "$(value 'migbatch_policy_state{state="attached"}')" 1
same "target" "$(value 'migbatch_target_seconds{cgroup="/tight.slice",signal="first"}')" 0.001000000
moved=$(metrics | sed -n 's/^migbatch_moved_bytes_total{cgroup="\/tight.slice",.* //p' |
	awk '{ n += $1 } END { printf "%d\n", n }')
same "bytes moved" "$moved" $((4 * 16 * 1024 * 1024))
at_least "first folios" "$(value 'migbatch_first_folio_seconds_count{cgroup="/tight.slice"}')" 1

# The file: there by itself, complete, readable for all, newer every time.
wait_for 30 test -s $prom
prom-check <$prom || fail "the file is not as the format wants it"
same "mode of the file" "$(stat -c %a $prom)" 644
file_is_new() {
	[ "$(stat -c %i $prom)" != "$first_inode" ]
}
first_inode=$(stat -c %i $prom)
wait_for 40 file_is_new

# Twenty cgroups more: those that have no room count together, and their sum never goes down.
other() {
	metrics | sed -n 's/^migbatch_batches_total{cgroup="other",.* //p' | awk '{ n += $1 } END { print n + 0 }'
}
for n in $(seq 20); do
	mkdir /sys/fs/cgroup/c$n
	in_cgroup c$n mover --size 4K --bytes 1M --rounds 2 >/dev/null || fail "the mover failed"
done
metrics | prom-check || fail "with many cgroups not as the format wants it"
at_least "limit" 4 "$(value migbatch_series_cgroups)"
before=$(other)
at_least "batches of others" "$before" 17
# One of the others gets a target: it has series from now on, and theirs do not shrink.
run migbatchctl target set /c20 5ms || fail "target set"
metrics | grep -q '^migbatch_target_seconds{cgroup="/c20"' || fail "/c20 has no series"
at_least "batches of others" "$(other)" "$before"
rmdir /sys/fs/cgroup/c?*
at_least "batches of others" "$(other)" "$before"

# A place that cannot be written is told once, with where it is set.
sed -i "s|^MetricsFile=.*|MetricsFile=/no/such/dir/x.prom|" /etc/migbatch/migbatchd.conf
run systemctl reload migbatchd.service
told() {
	daemon_journal | grep -F '/etc/migbatch/migbatchd.conf:3'
}
wait_for 30 told
[ ! -e $prom ] || fail "the old file stayed"
sed -i "s|^MetricsFile=.*|MetricsFile=$prom|" /etc/migbatch/migbatchd.conf
run systemctl reload migbatchd.service
wait_for 30 test -s $prom
run systemctl stop migbatchd.service
[ ! -e $prom ] || fail "the file outlived the daemon"
rm -r /run/systemd/system/migbatchd.service.d
systemctl daemon-reload
