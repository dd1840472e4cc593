# SPDX-License-Identifier: GPL-2.0-or-later
# What guest tests share. Sourced by bash, as root, in a guest that is thrown away.

mb=/sys/kernel/mm/migrate_batch
pins=/sys/fs/bpf/migbatch
tracing=/sys/kernel/tracing

skip() {
	echo "skip: $*"
	exit 77
}

fail() {
	echo "failed: $*"
	exit 1
}

# run COMMAND: shows it, then does it.
run() {
	echo "+ $*"
	"$@"
}

# same WHAT GOT WANT
same() {
	[ "$2" = "$3" ] || fail "$1 is '$2', should be '$3'"
	echo "$1: $2"
}

# at_least WHAT GOT MINIMUM
at_least() {
	[ "$2" -ge "$3" ] || fail "$1 is $2, should be at least $3"
	echo "$1: $2 (at least $3)"
}

# wait_for SECONDS COMMAND: until it succeeds.
wait_for() {
	local left=$(($1 * 5))
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || fail "waited in vain for: $*"
		sleep 0.2
	done
}

# --- the kernel's knobs

knob() {
	cat "$mb/$1"
}

set_knob() {
	echo "$2" >"$mb/$1" || fail "$mb/$1 refused '$2'"
}

counter() {
	cat "$mb/counters/$1"
}

# Remembers all counters; since NAME is what one has grown by.
declare -A counted
count_from_here() {
	local file
	for file in "$mb"/counters/*; do
		counted[${file##*/}]=$(<"$file")
	done
}

since() {
	echo $(($(counter "$1") - ${counted[$1]}))
}

show_counters() {
	local file
	for file in "$mb"/counters/*; do
		printf '%s=%d ' "${file##*/}" "$(since "${file##*/}")"
	done
	echo
}

# --- the copy engine

dcbm_on() {
	modprobe ptdma || fail "modprobe ptdma"
	modprobe dcbm || fail "modprobe dcbm"
	echo 1 >/sys/kernel/dcbm/enabled || fail "dcbm cannot be enabled"
	same provider "$(knob provider)" dcbm
}

dcbm_off() {
	[ ! -e /sys/kernel/dcbm/enabled ] || echo 0 >/sys/kernel/dcbm/enabled
}

# stream PAGES DEPTH SEGMENT: batches of that size, so many in flight, large folios split.
stream() {
	set_knob default_pages "$1"
	set_knob default_depth "$2"
	set_knob default_segment "$3"
}

# Names of PTDMA's channels, as dmaengine has them.
ptdma_channels() {
	local chan
	for chan in /sys/class/dma/dma*; do
		[ -e "$chan" ] || continue
		case $(readlink -f "$chan/device/driver") in
		*/ccp | */ptdma | */pt*) echo "${chan##*/}" ;;
		esac
	done
}

# dmatest OPTION=VALUE...: the kernel's own test of DMA channels on all of $channels. Leaves in $tests
# and $failures how many copies it made and how many of those did not pass.
dmatest() {
	local params=/sys/module/dmatest/parameters chan log

	echo "+ dmatest $*"
	modprobe dmatest timeout=20000 "$@" || fail "modprobe dmatest"
	for chan in "${channels[@]}"; do
		echo "$chan" >$params/channel || fail "dmatest refused $chan"
	done
	dmesg -C
	echo 1 >$params/run
	cat $params/wait >/dev/null
	rmmod dmatest
	log=$(dmesg | sed -n 's/^\[[^]]*\] dmatest: //p')
	grep summary <<<"$log" | sort | head -n 16
	# What went wrong, each kind once
	sed -n '/result/{ s/.*#[0-9]*: //; s/ with .*//; p }' <<<"$log" | sort | uniq -c
	read -r tests failures < <(sed -n 's/.*summary \([0-9]*\) tests, \([0-9]*\) failures.*/\1 \2/p' \
		<<<"$log" | awk '{ t += $1; f += $2 } END { print t + 0, f + 0 }')
}

# Sum over $channels of memcpy_count or bytes_transferred.
channel_count() {
	local chan
	for chan in "${channels[@]}"; do
		cat "/sys/class/dma/$chan/$1"
	done | awk '{ n += $1 } END { print n + 0 }'
}

# Interrupts that $channels have raised, on all processors.
channel_interrupts() {
	local chan
	for chan in "${channels[@]}"; do
		basename "$(readlink -f "/sys/class/dma/$chan/device")"
	done | grep -wFf - /proc/interrupts |
		awk '{ for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }'
}

# PCI address of the function that a channel belongs to.
function_of() {
	basename "$(readlink -f "/sys/class/dma/$1/device")"
}

# What the device model has counted of a function: engine_count FUNCTION NAME
engine_count() {
	twinctl ptdma "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"
}

# Interrupts of a function that reached a processor.
interrupts_of() {
	awk -v name="$1" '$NF == name {
		for (i = 2; i < NF && $i ~ /^[0-9]+$/; i++)
			n += $i
	} END { print n + 0 }' /proc/interrupts
}

# Commands that the driver has in the ring of a function.
in_flight() {
	sed -n 's/.*Commands in flight: //p' "/sys/kernel/debug/dmaengine/$1/q/stats"
}

# --- dmaburst: a client that has many descriptors in flight (tests/vm/modules)

# dma_burst NAME=VALUE...: runs it. Its line is left in $burst, and nothing in it may be wrong.
dma_burst() {
	echo "+ dmaburst $*"
	dmesg -C
	modprobe dmaburst "$@" || fail "dmaburst: $(dmesg | tail -n 3)"
	rmmod dmaburst
	burst=$(dmesg | sed -n 's/.*dmaburst: \(descriptors=.*\)/\1/p')
	echo "$burst"
	[ -n "$burst" ] || fail "dmaburst said nothing"
	! grep -q '_wrong=[1-9]' <<<"$burst" || fail "see the figures that end in _wrong"
}

burst_value() {
	sed -n "s/.*\<$1=\([^ ]*\).*/\1/p" <<<"$burst"
}

# --- policies

# The object of that name, as installed.
object() {
	local file
	file=$(find /usr/lib /usr/share /usr/local -name "$1.bpf.o" -path '*migbatch*' | head -n 1)
	[ -n "$file" ] || fail "$1.bpf.o is not installed"
	echo "$file"
}

policy() {
	knob policy
}

no_policy() {
	[ "$(policy)" = none ]
}

register() {
	run bpftool struct_ops register "$(object "$1")" $pins
}

unpin_policies() {
	rm -rf /sys/fs/bpf/*
}

# Id of the map of that name.
map_id() {
	bpftool map show | sed -n "s/^\([0-9]*\): .* name $1 .*/\1/p" | tail -n 1
}

# A value as bpftool wants it: numbers of 32 bits, little endian.
u32s() {
	local n
	for n; do
		printf '0x%02x 0x%02x 0x%02x 0x%02x ' $((n & 255)) $((n >> 8 & 255)) \
			$((n >> 16 & 255)) $((n >> 24 & 255))
	done
}

u64s() {
	local n
	for n; do
		u32s $((n & 0xffffffff)) $((n >> 32))
	done
}

# --- the daemon

# A complete configuration: the targets of two slices.
daemon_config() {
	mkdir -p /etc/migbatch
	cat >/etc/migbatch/migbatchd.conf <<-'END'
	[Daemon]
	Mode=control
	Policy=policy_target
	Interval=500ms

	[Target /tight.slice]
	Target=1ms

	[Target /bulk.slice]
	Target=20ms
	END
	make_slices
}

make_slices() {
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control
	run systemctl start tight.slice bulk.slice || fail "the slices do not start"
}

# One value of its status, as jq names it.
status_of() {
	migbatchctl -j status | jq -r "$1"
}

status_is() {
	[ "$(status_of "$1")" = "$2" ]
}

daemon_start() {
	run systemctl start migbatchd.service || {
		journalctl -u migbatchd -n 20 --no-pager -o cat
		fail "migbatchd does not start"
	}
}

daemon_journal() {
	journalctl -u migbatchd --no-pager -o cat | tail -n 30
}

# --- tracing

# trace_on EVENT...: of the system migrate_batch
trace_on() {
	local event
	echo 0 >$tracing/tracing_on
	echo 16384 >$tracing/buffer_size_kb
	: >$tracing/trace
	for event; do
		echo 1 >"$tracing/events/migrate_batch/$event/enable" || fail "no event $event"
	done
	echo 1 >$tracing/tracing_on
}

trace_off() {
	[ ! -d $tracing/events/migrate_batch ] || echo 0 >$tracing/events/migrate_batch/enable
}

# fields EVENT FIELD: its values, one a line.
fields() {
	sed -n "s/.* $1: .*\<$2=\([^ ]*\).*/\1/p" $tracing/trace
}

# --- memory

# move OPTIONS...: mover, which must succeed; its line is left in $moved.
move() {
	echo "+ mover $*"
	moved=$(mover "$@") || fail "mover $*: ${moved:-see above}"
	echo "$moved"
}

# moves_by_dma KIND SIZE: 8192 pages move four times while two threads write, the engine makes the
# copies, and folios stay whole.
moves_by_dma() {
	local dma cpu
	count_from_here
	move --size "$2" --bytes 32M --rounds 4 --writers 2 --kind "$1" --keep-size
	show_counters
	dma=$(since pages_dma) cpu=$(since pages_cpu)
	at_least "share of DMA in percent ($1 $2)" $((100 * dma / (dma + cpu))) 95
	same "copies that the engine failed" "$(since fallback_error)" 0
}

moved_value() {
	sed -n "s/.* $1=\([^ ]*\).*/\1/p" <<<"$moved"
}

# --- between two tests: everything as after boot

reset_guest() {
	local file
	systemctl stop migbatchd.service 2>/dev/null
	rm -rf /etc/migbatch/migbatchd.conf /etc/migbatch/migbatchd.conf.d /var/lib/migbatch/*
	systemctl stop tight.slice bulk.slice 2>/dev/null
	systemctl reset-failed 2>/dev/null
	trace_off
	unpin_policies
	dcbm_off
	if [ -d "$mb" ]; then
		for file in default_pages default_channels default_depth default_segment; do
			echo "${boot_knobs[$file]}" >"$mb/$file"
		done
	fi
}

declare -A boot_knobs
remember_knobs() {
	local file
	[ -d "$mb" ] || return 0
	for file in default_pages default_channels default_depth default_segment; do
		boot_knobs[$file]=$(<"$mb/$file")
	done
}

# in_cgroup DIR COMMAND: runs it there; its memory is that cgroup's.
in_cgroup() {
	local cgroup=$1
	shift
	(
		echo $BASHPID >"/sys/fs/cgroup/$cgroup/cgroup.procs" || exit
		exec "$@"
	)
}
