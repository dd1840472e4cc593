# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# A batch belongs to the cgroup that owns the memory.
trace_on mm_migrate_batch_end
run systemd-run --quiet --wait --unit=owner-test --slice=owner.slice --property=MemoryAccounting=yes \
	/usr/local/lib/migbatch-tests/mover --size 4K --bytes 8M --rounds 2 --pause-ms 500 &
wait_for 10 test -d /sys/fs/cgroup/owner.slice/owner-test.service
id=$(stat -c %i /sys/fs/cgroup/owner.slice/owner-test.service)
wait $! || fail "the mover in its slice failed"
echo 0 >$tracing/tracing_on
same "pages moved of its cgroup" "$(sed -n "s/.* mm_migrate_batch_end: .*cgroup=$id .*moved=\([0-9]*\) .*/\1/p" \
	$tracing/trace | awk '{ n += $1 } END { print n + 0 }')" 4096
