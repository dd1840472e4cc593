# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of tests/vm/compare: runs `rmap` state by state and shows what it printed. Whatever
# moves, splits, writes back or merges memory on its own is off, so that a run is like every other.
# Arguments: options of rmap, then patterns of states.
. ./lib.sh
thp=/sys/kernel/mm/transparent_hugepage
options=()
if [ "${1-}" = --falsify ]; then
	options=("$1" "$2")
	shift 2
fi
[ $# -gt 0 ] || set -- '*'

# put VALUE FILE
put() {
	echo "$1" >"$2" || fail "$2 does not take '$1'"
}

put madvise $thp/enabled
put advise $thp/shmem_enabled
for file in $thp/hugepages-*kB/*enabled; do
	put never "$file"
done
put 0 $thp/khugepaged/defrag
# It also takes the page table from a large file folio that is mapped by PTEs: it sleeps from now on.
put 4294967295 $thp/khugepaged/scan_sleep_millisecs
put 0 /proc/sys/vm/compaction_proactiveness
put 0 /proc/sys/vm/page-cluster
put 0 /proc/sys/vm/dirty_writeback_centisecs
put 0 /proc/sys/kernel/numa_balancing
put 0 /sys/kernel/mm/ksm/run
[ ! -e /sys/kernel/mm/ksm/smart_scan ] || put 0 /sys/kernel/mm/ksm/smart_scan
put 0 /sys/kernel/mm/ksm/sleep_millisecs
put 4000 /sys/kernel/mm/ksm/pages_to_scan
for node in 0 1; do
	put 4 /sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages
done
fallocate -l 96M /var/tmp/swap && chmod 600 /var/tmp/swap && mkswap -q /var/tmp/swap &&
	swapon /var/tmp/swap || fail "no swap"
# Services that start late may still use memory of their own.
systemctl is-system-running --wait >/dev/null 2>&1

status=0
rmap --list >/run/rmap.states
while read -r state; do
	for pattern; do
		# shellcheck disable=SC2254
		case $state in
		$pattern)
			rmap "${options[@]}" "$state" >/run/rmap.out || status=1
			cat /run/rmap.out
			break
			;;
		esac
	done
done </run/rmap.states
echo "rmap-done"
exit $status
