/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of migbatchd: one main file and drop-ins, found as systemd finds its own.
 * Nothing here touches the kernel, so that all of it is tested without root.
 */
#ifndef MIGBATCH_CONFIG_H
#define MIGBATCH_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target.h"

enum mode {
	MODE_OBSERVE,		/* measure, attach no policy */
	MODE_ADVISE,		/* measure and say what a policy would be asked for */
	MODE_CONTROL,		/* attach the policy, keep the targets */
};

const char *mode_name(enum mode mode);

struct target_rule {
	char *pattern;		/* cgroup path from the cgroup root, may be a glob */
	char *origin;		/* "file:line" of the section, for messages and status */
	bool has_target;
	struct target target;
};

struct config {
	enum mode mode;
	char *policy;
	char *policy_dir;
	char *cgroup_root;	/* NULL: where cgroup2 is mounted */
	uint64_t interval_ns;
	uint64_t default_target_ns;
	uint32_t max_pages;
	uint32_t max_channels;
	struct target_rule *rules;	/* in the order read; a pattern occurs once */
	size_t nr_rules;
};

/* Takes one finding: "file:line: what is wrong". */
typedef void (*config_report_fn)(void *data, bool error, const char *message);

/*
 * Reads the configuration under @root ("" for the real one). -EINVAL when a value is wrong, after
 * all findings were reported; @config is untouched then. Unknown keys are warnings.
 */
int config_load(struct config *config, const char *root, config_report_fn report, void *data);
void config_free(struct config *config);

/* Names of policies are names of files without their suffix, and nothing else. */
bool policy_name_valid(const char *name);

#endif /* MIGBATCH_CONFIG_H */
