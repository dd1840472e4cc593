/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The slot for an engine that copies the folios of a migration batch.
 */
#ifndef _LINUX_MIGRATE_OFFLOAD_H
#define _LINUX_MIGRATE_OFFLOAD_H

#include <linux/atomic.h>
#include <linux/list.h>
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
 * struct migrate_copy - one folio to copy, or several of order 0 that are neighbours in memory
 * @src: source folio, the first of several: locked, unmapped, and no TLB entry refers to it
 * @dst: destination folio of the same size: locked and seen by nobody else
 * @len: bytes to copy: the size of the folio, or of all of them
 * @status: enum migrate_copy_status, set by the provider
 * @cause: enum migrate_fallback, set by the provider unless @status is MIGRATE_COPY_DONE
 * @node: in the list that it is handed over in; between submission and reaping the provider's own,
 *	as is all that follows
 * @sent: bytes handed to the engine
 * @pending: descriptors that were not taken back yet
 * @left: those that are not complete, and one more while @queued
 * @queued: not all is sent
 */
struct migrate_copy {
	struct folio *src;
	struct folio *dst;
	size_t len;
	u8 status;
	u8 cause;
	struct list_head node;
	size_t sent;
	unsigned int pending;
	atomic_t left;
	bool queued;
};

struct migrate_offload_stream;

/**
 * struct migrate_offload_provider - an engine that copies folios
 * @name: shown to the administrator
 * @nr_channels: channels that could be used for a copy to node @dst_nid now, or to any node when it
 *	is NUMA_NO_NODE. Must not sleep.
 * @open: begins a stream of copies, which belongs to one task. NULL when memory is short. Must not
 *	reclaim: its caller may be reclaim, and hold folio locks.
 * @submit: starts the copies of the list, or queues them, and takes them over. At most @nr_channels
 *	channels are used. A copy longer than @segment bytes, unless that is 0, is split over the
 *	channels in parts of that size. Never fails: what cannot be copied comes back with a status
 *	that says so.
 * @reap: waits until at least @nr of the copies that were submitted are through, or all, and adds
 *	those that are to the list, each with its status. With @nr 0 it does not wait. May sleep.
 * @close: ends the stream. All its copies must have been reaped.
 */
struct migrate_offload_provider {
	const char *name;
	unsigned int (*nr_channels)(int dst_nid);
	struct migrate_offload_stream *(*open)(void);
	void (*submit)(struct migrate_offload_stream *stream, struct list_head *copies,
		       unsigned int nr_channels, size_t segment, int dst_nid);
	void (*reap)(struct migrate_offload_stream *stream, struct list_head *copies,
		     unsigned int nr);
	void (*close)(struct migrate_offload_stream *stream);
};

/**
 * struct migrate_offload - a stream of copies and the provider that it came from
 * @provider: whose code is kept from going away
 * @stream: its stream, NULL when there is none
 * @srcu: token of the read-side section
 */
struct migrate_offload {
	struct migrate_offload_provider *provider;
	struct migrate_offload_stream *stream;
	int srcu;
};

#ifdef CONFIG_MIGRATE_BATCH

int migrate_offload_register(struct migrate_offload_provider *provider);
void migrate_offload_unregister(struct migrate_offload_provider *provider);
unsigned int migrate_offload_channels(int reason, int dst_nid);
bool migrate_offload_open(struct migrate_offload *offload);
void migrate_offload_submit(struct migrate_offload *offload, const struct migrate_batch *batch,
			    struct list_head *copies, int dst_nid);
void migrate_offload_reap(struct migrate_offload *offload, struct list_head *copies,
			  unsigned int nr);
void migrate_offload_close(struct migrate_offload *offload);
void migrate_offload_copy(const struct migrate_batch *batch, struct migrate_copy *items,
			  unsigned int nr);
ssize_t migrate_offload_show(char *buf);
extern unsigned int migrate_offload_reasons;

#else

static inline bool migrate_offload_open(struct migrate_offload *offload) { return false; }
static inline void migrate_offload_submit(struct migrate_offload *offload,
					  const struct migrate_batch *batch,
					  struct list_head *copies, int dst_nid) { }
static inline void migrate_offload_reap(struct migrate_offload *offload, struct list_head *copies,
					unsigned int nr) { }
static inline void migrate_offload_close(struct migrate_offload *offload) { }
static inline void migrate_offload_copy(const struct migrate_batch *batch,
					struct migrate_copy *items, unsigned int nr) { }

#endif /* CONFIG_MIGRATE_BATCH */

#endif /* _LINUX_MIGRATE_OFFLOAD_H */
