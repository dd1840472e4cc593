# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of the demo, see tests/vm/demo. Arguments: virtual ms of each phase, target of the
# tight and of the bulk cgroup in us, memory of either in MB.
. ./lib.sh
phase_ms=$1 tight_us=$2 bulk_us=$3 tight_mb=$4 bulk_mb=$5
max_pages=65536

echo "@demo"
say() {
	printf '\n== %s\n' "$*"
}

start_mover() {
	systemd-run --quiet --unit="demo-$1" --slice="demo-$1.slice" \
		--property=StandardOutput=file:/run/demo-$1.out --property=StandardError=inherit \
		/usr/local/lib/migbatch-tests/mover --size 2M --bytes "$2M" --rounds 0 --verify-last \
		--pause-ms 12 --turn /run/demo.turn --report "/run/demo-$1.line" --seed "$3" ||
		fail "the mover of $1 does not start"
}

cgroup_of() {
	echo "/demo.slice/demo-$1.slice/demo-$1.service"
}

write_config() {
	mkdir -p /etc/migbatch/migbatchd.conf.d
	cat >/etc/migbatch/migbatchd.conf.d/demo.conf <<-END
	[Daemon]
	Mode=$1
	Interval=100ms

	[Target /demo.slice/demo-tight.slice]
	Target=${tight_us}us

	[Target /demo.slice/demo-bulk.slice]
	Target=${bulk_us}us
	END
}

# summary PHASE: from the kernel's own events, batch by batch, so that no bucket blurs a quantile.
# One line a cgroup goes to /run/demo.PHASE: name, p50 us, p99 us, median batch, channels, GB/s,
# batches.
summary() {
	local name id
	echo 0 >$tracing/tracing_on
	: >"/run/demo.$1"
	for name in tight bulk; do
		id=$(stat -c %i "/sys/fs/cgroup$(cgroup_of $name)")
		sed -n "s/.* mm_migrate_batch_start: id=\([0-9]*\) .* batch_pages=\([0-9]*\) channels=\([0-9]*\) retry=\([01]\).*/start \1 \2 \3 \4/p
			s/.* mm_migrate_batch_end: id=\([0-9]*\) cgroup=$id .* first_ns=\([0-9]*\) total_ns=\([0-9]*\) .* moved=\([0-9]*\) .*/end \1 \2 \3 \4/p" \
			$tracing/trace |
			awk -v name=$name '
			$1 == "start" { channels[$2] = $4; retry[$2] = $5; next }
			retry[$2] { next }
			{ first[++n] = $3; moved[n] = $5; chan[n] = channels[$2]; ns += $4; pages += $5 }
			function quantile(v, q,    i, j, t, s) {
				for (i = 1; i <= n; i++)
					s[i] = v[i] + 0
				for (i = 2; i <= n; i++) {
					t = s[i]
					for (j = i - 1; j > 0 && s[j] > t; j--)
						s[j + 1] = s[j]
					s[j + 1] = t
				}
				i = int((n * q + 99) / 100)
				return s[i < 1 ? 1 : i]
			}
			END {
				if (n)
					printf "%s %.0f %.0f %d %d %.1f %d\n", name, quantile(first, 50) / 1000,
						quantile(first, 99) / 1000, quantile(moved, 50),
						quantile(chan, 50), pages * 4096 / ns, n
			}' >>"/run/demo.$1"
	done
	[ "$(wc -l <"/run/demo.$1")" = 2 ] || fail "no batches were measured in phase $1"
}

watch_live() {
	trace_on mm_migrate_batch_start mm_migrate_batch_end
	migbatchctl top --plain -d "$((phase_ms / 4))ms" -n 4
	summary "$1"
}

value() {
	awk -v name="$2" -v field="$3" '$1 == name { print $field }' "/run/demo.$1"
}

row() {
	printf '%-14s %7d us   %8d %8d %7d %3d %6.1f   %8d %8d %7d %3d %6.1f   %s\n' "demo-$1.slice" \
		"$2" "$(value observe "$1" 2)" "$(value observe "$1" 3)" "$(value observe "$1" 4)" \
		"$(value observe "$1" 5)" "$(value observe "$1" 6)" \
		"$(value control "$1" 2)" "$(value control "$1" 3)" "$(value control "$1" 4)" \
		"$(value control "$1" 5)" "$(value control "$1" 6)" "$3"
}

verdict_of() {
	if [ "$(value control "$1" 3)" -le "$2" ]; then
		echo "target met"
	else
		echo "TARGET MISSED"
	fi
}

say "setting up: PTDMA and dcbm, migbatchd under systemd, two movers that fill their memory"
dcbm_on >/dev/null
set_knob max_pages $max_pages
set_knob default_pages $max_pages
set_knob default_channels 16
wc -l </sys/kernel/dcbm/channels | sed 's/$/ PTDMA channels claimed/'
write_config observe
daemon_start >/dev/null
start_mover tight "$tight_mb" 1
start_mover bulk "$bulk_mb" 2
count_from_here
both_move() {
	[ "$(since pages_dma)" -gt $(((tight_mb + bulk_mb) * 256)) ]
}
wait_for 120 both_move
echo "both cgroups' memory ($tight_mb and $bulk_mb MB in 2M folios) now moves back and forth"
twin-clock fitted || fail "the clock of the twin cannot be set"

say "observe: the batch is $max_pages pages on 16 channels, as throughput alone would have it"
watch_live observe

say "control: migbatchd attaches policy_target; demo-tight.slice may wait $tight_us us, demo-bulk.slice $bulk_us us"
write_config control
systemctl reload migbatchd.service || fail "reload"
wait_for 20 status_is .policy.state attached
watch_live control

say "stopping the movers, comparing all of their memory"
systemctl stop demo-tight.service demo-bulk.service
verified=yes
for name in tight bulk; do
	line=$(cat /run/demo-$name.line 2>/dev/null)
	echo "$name: ${line:-$(cat /run/demo-$name.out)}"
	[[ $line == *result=ok* ]] || verified=no
done
systemctl stop migbatchd.service
same "policy after migbatchd has stopped" "$(policy)" none

say "result, in virtual time: a first folio's delay by batch, from start to the end of either phase"
printf '%-14s %10s   %-38s   %-38s\n' '' '' 'observe (no policy)' 'control (policy_target)'
printf '%-14s %10s   %8s %8s %7s %3s %6s   %8s %8s %7s %3s %6s\n' cgroup target \
	'p50 us' 'p99 us' pages ch GB/s 'p50 us' 'p99 us' pages ch GB/s
row tight "$tight_us" "$(verdict_of tight "$tight_us")"
row bulk "$bulk_us" "$(verdict_of bulk "$bulk_us")"
echo

if [ $verified = yes ] && [ "$(value control tight 3)" -le "$tight_us" ]; then
	echo "verdict: PASS. demo-tight.slice: p99 $(value control tight 3) us is within $tight_us us" \
		"(without policy $(value observe tight 3) us); both memories verified byte for byte."
	exit 0
fi
[ $verified = yes ] || echo "verdict: FAIL. memory was not as it should be"
[ "$(value control tight 3)" -le "$tight_us" ] ||
	echo "verdict: FAIL. demo-tight.slice: p99 $(value control tight 3) us, target $tight_us us"
exit 1
