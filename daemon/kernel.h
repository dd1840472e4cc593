/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the running kernel offers and does: its own word, read anew each time. */
#ifndef MIGBATCH_KERNEL_H
#define MIGBATCH_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_SYSFS "/sys/kernel/mm/migrate_batch"
#define KERNEL_DCBM "/sys/kernel/dcbm"

struct btf;

/*
 * The running kernel's BTF, read once and kept until kernel_btf_drop(): it takes a while. NULL with
 * errno when there is none.
 */
const struct btf *kernel_btf(void);
void kernel_btf_drop(void);

/* From BTF: what was built into the kernel. */
struct kernel_features {
	int btf_error;		/* 0, or why the kernel's BTF cannot be read */
	bool batch;		/* CONFIG_MIGRATE_BATCH */
	bool policies;		/* CONFIG_MIGRATE_BATCH_BPF */
};

void kernel_features_read(struct kernel_features *features);

/* What to do about it, in one line; NULL when all is there. */
const char *kernel_features_advice(const struct kernel_features *features);

/* The attached policy's name; "" when there is none, -ENOENT on a kernel without the series. */
#define KERNEL_POLICY_MAX 64
int kernel_policy_read(char *name);

/* A policy's link, as the kernel lists it. */
struct kernel_link {
	uint32_t id;
	uint32_t map_id;	/* 0 once the policy was detached from its link */
	char map_name[16];
	char *pin;		/* path under MB_PIN_DIR, NULL when it is not pinned there */
};

/* Needs CAP_SYS_ADMIN. @links is malloc'd, freed by kernel_links_free(). */
int kernel_links_read(struct kernel_link **links, unsigned int *nr);
void kernel_links_free(struct kernel_link *links, unsigned int nr);

#endif /* MIGBATCH_KERNEL_H */
