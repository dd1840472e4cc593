/* SPDX-License-Identifier: GPL-2.0-or-later */
/* migbatchd: configuration, cgroups, policy and observer, joined by one event loop. */
#ifndef MIGBATCH_MANAGER_H
#define MIGBATCH_MANAGER_H

#include <systemd/sd-event.h>

#include "cgroups.h"
#include "config.h"
#include "ipc.h"
#include "kernel.h"
#include "observe.h"
#include "policy.h"
#include "reading.h"
#include "state.h"
#include "stats.h"

/* Apart from /run/migbatch itself, where drop-ins may be: systemd removes it at a stop. */
#define RUN_PARENT "/run/migbatch"
#define RUN_DIR RUN_PARENT "/daemon"
#define STATE_FILE RUN_DIR "/state.json"
#define LOCK_FILE RUN_DIR "/lock"

/* A cgroup that is gone, while there are figures of it. */
struct departed {
	uint64_t id;
	char *path;
};

struct manager {
	sd_event *event;
	sd_event_source *round;		/* the control loop */
	sd_event_source *scan;		/* a scan of the cgroup tree that is due */
	const char *config_root;	/* "" but in tests */
	const char *cgroup_root;	/* from the command line, or NULL */
	struct config config;
	char *config_error;		/* first finding of a reload that was refused */
	struct state state;
	struct kernel_features features;
	struct cgroups cgroups;
	struct policy policy;
	struct observer observer;
	struct ipc_server *ipc;
	uint64_t scanned_ns;
	uint64_t scan_cost_ns;
	struct departed *departed;
	size_t departed_nr;
	uint64_t swept_ns;
	uint64_t *absent;		/* ids that the last sweep found without a cgroup, sorted */
	size_t absent_nr;
	uint64_t *absent_next;
	size_t absent_next_nr;
	bool targets_full;
	struct readings advised;	/* the figures of the last round of advice */
	char status[256];		/* last STATUS= sent */
	int lock_fd;
};

int manager_start(struct manager *m);
int manager_run(struct manager *m);
void manager_stop(struct manager *m);

/* manager_targets.c: from configuration to map entries, and the slow loop's corrections. */
void targets_resolve(struct manager *m);	/* after cgroups, configuration or orders changed */
void targets_rewrite(struct manager *m);	/* after another policy came in force */
void targets_round(struct manager *m);
void targets_gone(struct cgroup *cgroup, void *manager);

/* manager_sweep.c */
void manager_sweep(struct manager *m);
void departed_add(struct manager *m, const struct cgroup *cgroup);
const char *departed_path(const struct manager *m, uint64_t id);
void manager_sweep_free(struct manager *m);

/* manager_advise.c */
void manager_advise(struct manager *m);

/* manager_ipc.c */
int manager_stats(struct manager *m, struct stats_query *query, struct json_object **stats);
int manager_request(void *manager, struct json_object *request, bool root,
		    struct json_object *answer, char *why);

/* manager.c, for manager_ipc.c */
const char *manager_policy_wanted(const struct manager *m);	/* NULL for none */
int manager_policy_apply(struct manager *m);
int manager_state_save(struct manager *m, char *why);
void manager_notify(struct manager *m);

#endif /* MIGBATCH_MANAGER_H */
