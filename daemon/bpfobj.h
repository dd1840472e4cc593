/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BPF objects from files, and the pins under MB_PIN_DIR. */
#ifndef MIGBATCH_BPFOBJ_H
#define MIGBATCH_BPFOBJ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_object;

#define BPFOBJ_SUFFIX ".bpf.o"
#define BPFOBJ_WHY_MAX 512

/*
 * 0 when the file may be trusted with the kernel: a regular file, of root, writable by nobody
 * else. Else a negative errno with the reason in @why. @fd is open on success only.
 */
int bpfobj_trust(const char *path, int *fd, char *why);

/* Opens DIR/NAME.bpf.o, not loaded yet. @image must be freed after the object is loaded. */
int bpfobj_open(const char *dir, const char *name, struct bpf_object **obj, void **image,
		char *why);

/*
 * Gives each map its pin under MB_PIN_DIR, so that loading finds the map of an earlier run again.
 * A pinned map of another shape, left by another version, is dropped with a line in the log.
 */
int bpfobj_pin_maps(struct bpf_object *obj, char *why);

/* Removes the maps' pins; the maps live on while programs use them. */
void bpfobj_unpin_maps(struct bpf_object *obj);

/* Makes MB_PIN_DIR; says what to mount when bpffs is missing. */
int pin_dir_make(char *why);

/*
 * What kind of object a descriptor from bpf_obj_get() is. The kernel's info call does not tell: it
 * answers for any kind, and the type numbers of maps and links overlap.
 */
bool bpf_fd_is_link(int fd);
bool bpf_fd_is_map(int fd);

/* An open pinned map when its key and value have these sizes, else a negative errno. */
int pin_map_open(const char *name, size_t key_size, size_t value_size);

/*
 * Calls @visit for each link of a struct_ops pinned in MB_PIN_DIR until it returns nonzero, and
 * returns that. @fd is closed afterwards.
 */
int pin_links_each(int (*visit)(int fd, const char *path, const char *name, void *data),
		   void *data);

/* Removes the pins of all maps: those of a policy that was swapped out are left until then. */
void pin_maps_remove(void);

/* Detaches and unpins each policy pinned there: the kernel's default is back. Number removed. */
int pin_links_remove(void);

#endif /* MIGBATCH_BPFOBJ_H */
