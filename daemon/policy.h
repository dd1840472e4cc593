/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The policy in the kernel. Its link is held by its pin alone, never by this process: removing the
 * pin is all it takes to get the kernel's default back, whether the daemon lives or not.
 */
#ifndef MIGBATCH_POLICY_H
#define MIGBATCH_POLICY_H

#include <stdbool.h>
#include <stdint.h>

enum policy_state {
	POLICY_OFF,		/* we attached none */
	POLICY_ATTACHED,	/* ours is in force */
	POLICY_FOREIGN,		/* somebody else's is attached, and not pinned in our directory */
	POLICY_REMOVED,		/* ours was attached, then its pin was removed by hand */
	POLICY_EJECTED,		/* ours was attached, then the kernel let it go */
	POLICY_FAILED,		/* ours could not be loaded or attached, see the log */
};

struct policy {
	enum policy_state state;
	char name[64];		/* of the object file */
	char kernel_name[64];	/* what the kernel calls the one in force, "" for none */
	char *pin;		/* of the link, while attached */
	bool adopted;		/* the link was there before us */
	char why[512];		/* of POLICY_FAILED */
	struct bpf_object *obj;
	void *image;
	int targets_fd;		/* maps; -1 when this policy has no such map */
	int control_fd;
	int decisions_fd;
};

#define POLICY_INIT { .targets_fd = -1, .control_fd = -1, .decisions_fd = -1 }

const char *policy_state_name(enum policy_state state);

/* Loads DIR/NAME.bpf.o and puts it in force, in place of one pinned in our directory. */
int policy_attach(struct policy *p, const char *dir, const char *name);

/* Compares with the kernel. True when the state changed. */
bool policy_check(struct policy *p);

/* Takes the policy out of force and drops all that was loaded. */
void policy_detach(struct policy *p);

/* Drops what was loaded, but leaves what is in force as it is. */
void policy_forget(struct policy *p);

#endif /* MIGBATCH_POLICY_H */
