/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The observer: BPF programs on the batch tracepoints, or on what an unpatched kernel has. */
#ifndef MIGBATCH_OBSERVE_H
#define MIGBATCH_OBSERVE_H

#include <stdbool.h>

struct bpf_link;
struct bpf_object;

struct observer {
	struct bpf_object *obj;
	void *image;
	struct bpf_link **links;
	unsigned int nr_links;
	bool plain;		/* on an unpatched kernel: first-folio delay and little else */
	char why[512];		/* why it does not run */
};

/* Attaches DIR/observe.bpf.o: its programs batch_* on a patched kernel, plain_* elsewhere. */
int observer_start(struct observer *o, const char *dir, bool patched);

/* Detaches the programs and unpins the maps; the figures are gone. */
void observer_stop(struct observer *o);

#endif /* MIGBATCH_OBSERVE_H */
