# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Helpers of every shell script here: messages, the cache folder, locks, input hashes, long
# commands. Sourced, never run. POSIX sh.

# One line of progress, on stderr so that stdout stays for results.
say() {
	echo "migbatch: $*" >&2
}

die() {
	echo "migbatch: error: $*" >&2
	exit 1
}

# The cache of everything that takes long to build (DESIGN: keyed by a hash of the inputs).
cache_dir() {
	echo "${MIGBATCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/migbatch}"
}

# Holds the lock NAME until this process and its children end, so that two builds at once take
# turns. The descriptor is inherited on purpose: a child that outlives us still writes. One lock a
# process: a second call lets go of the first.
with_lock() {
	mkdir -p "$(cache_dir)/locks"
	exec 9>"$(cache_dir)/locks/$1"
	flock -n 9 || {
		say "waiting for another build of '$1' to end"
		flock 9
	}
}

# Hash of the given files, folders (names below them and contents) and strings, 16 hex digits. It
# does not depend on where a file or folder lies, so that two clones share the cache.
hash_of() {
	for item; do
		if [ -d "$item" ]; then
			(cd "$item" && find . -type f -print0 | LC_ALL=C sort -z |
				xargs -0r sha256sum)
		elif [ -f "$item" ]; then
			sha256sum <"$item"
		else
			printf '%s\n' "$item"
		fi
	done | sha256sum | cut -c1-16
}

# Number of jobs of a parallel build: JOBS if set. One more than there are processors, since a
# compiler waits for its files now and then.
jobs() {
	echo "${JOBS:-$(($(nproc) + 1))}"
}

# ccache for builds inside the cache folder: paths below it count as relative and the working
# directory does not count, so that another tree of the same source hits. What a file includes is
# read off the compiler's own list: no run of the preprocessor before that of the compiler, which
# is a quarter of the time of a cold build.
use_ccache() {
	CCACHE_BASEDIR=$(cache_dir)
	CCACHE_DIR=$CCACHE_BASEDIR/ccache
	export CCACHE_BASEDIR CCACHE_DIR CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_MAXSIZE=8G
}

# Runs a long command with its output in a log, and tells every 20 s how far it is.
# usage: run_logged WHAT LINES LOG COMMAND...   LINES: about how many lines the log will have, or 0
run_logged() {
	what=$1 lines=$2 log=$3
	shift 3
	mkdir -p "$(dirname "$log")"
	: >"$log"
	start=$(date +%s)
	(
		# Not the lock: this loop may outlive a killed command.
		exec 9>&-
		while sleep 20; do
			[ -e "/proc/$$" ] || exit 0
			done=$(wc -l <"$log")
			of=
			[ "$lines" -eq 0 ] || of=" of about $lines"
			say "$what: $done$of steps, $(($(date +%s) - start)) s"
		done
	) &
	reporter=$!
	trap 'kill $reporter 2>/dev/null || :' EXIT
	status=0
	"$@" >>"$log" 2>&1 || status=$?
	kill $reporter 2>/dev/null || :
	trap - EXIT
	[ $status -eq 0 ] || {
		grep -nE '(error|Error|ERROR|undefined reference|\*\*\*)' "$log" | head -20 >&2 || :
		tail -n 5 "$log" >&2
		die "$what failed ($*); the whole log: $log"
	}
	say "$what: done in $(($(date +%s) - start)) s"
}
