# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# Large folios of every size stay whole through ten moves there and back. Vanilla splits them at the
# second.
thp=/sys/kernel/mm/transparent_hugepage
# Nothing else may split or collapse folios meanwhile.
defrag=$(cat $thp/khugepaged/defrag)
numa=$(cat /proc/sys/kernel/numa_balancing)
declare -A enabled
for file in $thp/hugepages-*kB/enabled; do
	enabled[$file]=$(sed 's/.*\[\(.*\)\].*/\1/' "$file")
	echo never >"$file"
done
echo 0 >$thp/khugepaged/defrag
echo 0 >/proc/sys/kernel/numa_balancing
status=0
run mthp-ten || status=$?
for file in "${!enabled[@]}"; do
	echo "${enabled[$file]}" >"$file"
done
echo "$defrag" >$thp/khugepaged/defrag
echo "$numa" >/proc/sys/kernel/numa_balancing
same "status of mthp-ten" $status 0
