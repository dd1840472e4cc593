# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# NUMA balancing takes PTEs away for a while among those that are moved: no TLB knows these, and
# they must not decide for their neighbours whether to flush. No store is lost.
balancing=/sys/kernel/debug/sched/numa_balancing
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
echo 10 >$balancing/scan_delay_ms
echo 10 >$balancing/scan_period_min_ms
echo 20 >$balancing/scan_period_max_ms
echo 8 >$balancing/scan_size_mb
echo 1 >/proc/sys/kernel/numa_balancing
updates() {
	sed -n 's/^numa_pte_updates //p' /proc/vmstat
}

dcbm_on
for channels in 0 16; do
	set_knob default_channels $channels
	[ $channels = 0 ] || stream 64 4 0
	before=$(updates)
	move --size 4K --bytes 32M --rounds 0 --seconds 8 --writers 2 --may-stay
	move --size 64K --bytes 32M --rounds 0 --seconds 4 --writers 2 --may-stay
	at_least "PTEs that were taken away for hints" $(($(updates) - before)) 1000
done
echo 0 >/proc/sys/kernel/numa_balancing
