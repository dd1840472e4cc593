/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slot for an engine that copies the folios of a migration batch.
 */
#ifndef _LINUX_MIGRATE_OFFLOAD_H
#define _LINUX_MIGRATE_OFFLOAD_H

#include <linux/types.h>

struct folio;
struct migrate_batch;

/**
 * enum migrate_copy_status - what became of one copy
 * @MIGRATE_COPY_NONE: not tried, or failed before any descriptor was issued
 * @MIGRATE_COPY_DONE: dst holds the content of src
 * @MIGRATE_COPY_ERROR: the engine failed the copy and will not touch dst any more: the CPU may
 *	copy it
 * @MIGRATE_COPY_LOST: the engine did not answer and may still write to dst. The provider holds a
 *	reference to both folios until it has proof to the contrary. The migration of the folio
 *	must be given up: a CPU copy could be overwritten later.
 */
enum migrate_copy_status {
	MIGRATE_COPY_NONE,
	MIGRATE_COPY_DONE,
	MIGRATE_COPY_ERROR,
	MIGRATE_COPY_LOST,
};

/**
 * struct migrate_copy - one folio to copy
 * @src: source folio: locked, unmapped, and no TLB entry refers to it
 * @dst: destination folio of the same size: locked and seen by nobody else
 * @status: enum migrate_copy_status, set by the provider
 * @cause: enum migrate_fallback, set by the provider unless @status is MIGRATE_COPY_DONE
 */
struct migrate_copy {
	struct folio *src;
	struct folio *dst;
	u8 status;
	u8 cause;
};

/**
 * struct migrate_offload_provider - an engine that copies folios
 * @name: shown to the administrator
 * @nr_channels: channels that could be used for a copy to node @dst_nid now, or to any node when it
 *	is NUMA_NO_NODE. Must not sleep.
 * @copy: copies @nr items with at most @nr_channels channels, returns when each has its status.
 *	May sleep, must not allocate with reclaim: its caller holds folio locks.
 */
struct migrate_offload_provider {
	const char *name;
	unsigned int (*nr_channels)(int dst_nid);
	void (*copy)(struct migrate_copy *items, unsigned int nr, unsigned int nr_channels,
		     int dst_nid);
};

#ifdef CONFIG_MIGRATE_BATCH

int migrate_offload_register(struct migrate_offload_provider *provider);
void migrate_offload_unregister(struct migrate_offload_provider *provider);
unsigned int migrate_offload_channels(int reason, int dst_nid);
void migrate_offload_copy(const struct migrate_batch *batch, struct migrate_copy *items,
			  unsigned int nr);
ssize_t migrate_offload_show(char *buf);
extern unsigned int migrate_offload_reasons;

#else

static inline void migrate_offload_copy(const struct migrate_batch *batch,
					struct migrate_copy *items, unsigned int nr) { }

#endif /* CONFIG_MIGRATE_BATCH */

#endif /* _LINUX_MIGRATE_OFFLOAD_H */
