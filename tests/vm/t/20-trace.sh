# SPDX-License-Identifier: GPL-2.0-or-later
# vm: patched
# The tracepoints tell each batch whole: what starts ends, and the times fit into each other.
dcbm_on
set_knob default_channels 4
set_knob default_pages 1024
trace_on mm_migrate_batch_start mm_migrate_batch_unmapped mm_migrate_batch_copied \
	mm_migrate_batch_first mm_migrate_batch_end mm_migrate_folio_restored
move --size 4K --bytes 16M --rounds 2
echo 0 >$tracing/tracing_on

starts=$(fields mm_migrate_batch_start id | sort -n)
at_least "batches" "$(wc -l <<<"$starts")" 8
same "batches that ended" "$(fields mm_migrate_batch_end id | sort -n | md5sum)" \
	"$(md5sum <<<"$starts")"
same "largest batch_pages" "$(fields mm_migrate_batch_start batch_pages | sort -n | tail -n 1)" 1024
same "folios restored" "$(fields mm_migrate_folio_restored pfn | wc -l)" 8192
same "pages moved" "$(fields mm_migrate_batch_end moved | awk '{ n += $1 } END { print n }')" 8192

# first and blackout are within total, in every batch.
paste <(fields mm_migrate_batch_end first_ns) <(fields mm_migrate_batch_end total_ns) \
	<(fields mm_migrate_batch_end blackout_ns) |
	awk '$1 > $2 || $3 > $2 { print "first, total, blackout:", $0; bad = 1 } END { exit bad }' ||
	fail "times that cannot be"

# Each event works by itself.
trace_off
for event in start unmapped copied first end; do
	trace_on mm_migrate_batch_$event
	move --size 64K --bytes 4M
	at_least "events of mm_migrate_batch_$event" "$(fields mm_migrate_batch_$event id | wc -l)" 1
	trace_off
done
