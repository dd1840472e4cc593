# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of tests/vm/selftests: runs the programs of selftests/list, whose lines are a label
# and a command, and passes their results on. Argument: seconds that one may take.
dir=$PWD/selftests limit=$1 out=/run/selftests.out
# Progress that the tests provoke in the kernel's log would cut their lines on the console in two.
dmesg -n 5
# It would make large again what a test has just split, and did.
echo 1000000000 >/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs
# Some start themselves again, by their name.
cd "$dir" || exit
while read -r label command; do
	printf '\n@start %s\n' "$label"
	start=$SECONDS
	# shellcheck disable=SC2086
	timeout -k 5 "$limit" "$dir"/$command >$out 2>&1 </dev/null
	status=$?
	grep -aE '^(ok|not ok) [0-9]|^1\.\.0' $out
	# What else it said tells why it failed, or skipped all.
	case $status in
	0 | 4) ;;
	*) grep -avE '^ok [0-9]' $out | tail -n 25 | sed 's/^/| /' ;;
	esac
	printf '\n@end %s %d %d\n' "$label" $status $((SECONDS - start))
done <"$dir/list"
