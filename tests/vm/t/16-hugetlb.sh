# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched vanilla
# The mark «content is copied» shares a word with the flags of hugetlb folios, and has the bit of
# temporary ones, which are what a node without hugetlb pages gives: these must be copied all the same.
if [ -d $mb ]; then
	dcbm_on
	set_knob default_channels 4
fi
nodes=/sys/devices/system/node
pool=hugepages/hugepages-2048kB/nr_hugepages
echo 8 >$nodes/node0/$pool || fail "no hugetlb pages on node 0"
same "hugetlb pages of node 0" "$(cat $nodes/node0/$pool)" 8
same "hugetlb pages of node 1" "$(cat $nodes/node1/$pool)" 0
run hugetlb 8 1 || fail "hugetlb pages did not move, or lost their contents"
echo 0 >$nodes/node0/$pool
echo 0 >$nodes/node1/$pool
