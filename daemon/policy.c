// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <migbatch/abi.h>
#include <stdio.h>
#include <string.h>

#include "bpfobj.h"
#include "kernel.h"
#include "log.h"
#include "policy.h"
#include "util.h"

#define LINK_PIN MB_PIN_DIR "/link"

static const char *const state_names[] = {
	[POLICY_OFF] = "off",
	[POLICY_ATTACHED] = "attached",
	[POLICY_FOREIGN] = "foreign",
	[POLICY_REMOVED] = "removed",
	[POLICY_EJECTED] = "ejected",
	[POLICY_FAILED] = "failed",
};

const char *policy_state_name(enum policy_state state)
{
	return state_names[state];
}

static struct bpf_map *find_ops(struct bpf_object *obj)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj)
		if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS)
			return map;
	return NULL;
}

/* Loads into @p, which holds nothing; nothing is in force yet. */
static int load(struct policy *p, const char *dir, const char *name)
{
	struct bpf_map *ops;
	int err;

	err = bpfobj_open(dir, name, &p->obj, &p->image, p->why);
	if (err)
		return err;
	ops = find_ops(p->obj);
	if (!ops) {
		snprintf(p->why, sizeof(p->why), "%s/%s" BPFOBJ_SUFFIX " holds no policy", dir,
			 name);
		return -EINVAL;
	}
	/* It is attached by hand, to choose between a new link and one that exists. */
	bpf_map__set_autoattach(ops, false);
	err = bpfobj_pin_maps(p->obj, p->why);
	if (err)
		return err;
	err = bpf_object__load(p->obj);
	if (err) {
		snprintf(p->why, sizeof(p->why), "%s was refused by the kernel: %s", name,
			 strerror(-err));
		return err;
	}
	p->targets_fd = bpf_object__find_map_fd_by_name(p->obj, "targets");
	p->control_fd = bpf_object__find_map_fd_by_name(p->obj, "control");
	p->decisions_fd = bpf_object__find_map_fd_by_name(p->obj, "decisions");
	snprintf(p->name, sizeof(p->name), "%s", name);
	return 0;
}

static int link_new(struct policy *p, struct bpf_map *ops)
{
	struct bpf_link *link = bpf_map__attach_struct_ops(ops);
	int err = 0;

	if (!link)
		return -errno;
	p->pin = strdup(LINK_PIN);
	if (!p->pin)
		err = -ENOMEM;
	if (!err) {
		/* No link was in force, so what is pinned there is one that was detached. */
		unlink(LINK_PIN);
		err = bpf_link__pin(link, LINK_PIN);
	}
	/* Closes our descriptor: with a pin the policy stays, without one it goes. */
	bpf_link__destroy(link);
	return err;
}

struct adoption {
	int map_fd;
	char *path;
	int err;
};

static int link_adopt(int fd, const char *path, const char *name, void *data)
{
	struct adoption *a = data;

	(void)name;
	a->err = bpf_link_update(fd, a->map_fd, NULL);
	if (a->err)
		return 0;
	a->path = strdup(path);
	return 1;
}

/*
 * Puts the loaded policy in force. The kernel refuses a second link, so try a new one first: that
 * fails when one exists, and if that one is pinned with us, our policy takes its place in it
 * without a moment of default in between. (bpf_link__update_map() cannot do this, it wants a link
 * that this process made; the failed attempt has given the map its final value.)
 */
static int put_in_force(struct policy *p)
{
	struct bpf_map *ops = find_ops(p->obj);
	struct adoption a = { .map_fd = bpf_map__fd(ops) };
	int err;

	err = link_new(p, ops);
	if (err != -EBUSY && err != -EEXIST)
		return err;
	if (!pin_links_each(link_adopt, &a))
		return a.err && a.err != -ENOLINK ? a.err : -EBUSY;
	if (!a.path)
		return -ENOMEM;
	free(p->pin);
	p->pin = a.path;
	p->adopted = true;
	return 0;
}

static void drop(struct policy *p)
{
	bpf_object__close(p->obj);
	free(p->image);
	free(p->pin);
	p->obj = NULL;
	p->image = NULL;
	p->pin = NULL;
	p->targets_fd = p->control_fd = p->decisions_fd = -1;
}

void policy_forget(struct policy *p)
{
	drop(p);
	p->state = POLICY_OFF;
	p->adopted = false;
}

static void fail(struct policy *p, const char *name, const struct policy *of, int err)
{
	char foreign[KERNEL_POLICY_MAX] = "";

	if (err == -EBUSY) {
		kernel_policy_read(foreign);
		snprintf(p->kernel_name, sizeof(p->kernel_name), "%s", foreign);
		p->state = POLICY_FOREIGN;
		log_event(LOG_WARNING, "policy-foreign", NULL, name,
			  "policy '%s' is attached by somebody else: %s stays out and only "
			  "observes until it is gone", foreign, name);
		return;
	}
	snprintf(p->why, sizeof(p->why), "%s", of->why);
	p->state = POLICY_FAILED;
	log_event(LOG_ERR, "policy-failed", NULL, name, "policy %s: %s", name, p->why);
}

int policy_attach(struct policy *p, const char *dir, const char *name)
{
	struct policy next = POLICY_INIT;
	int err;

	err = load(&next, dir, name);
	if (!err) {
		err = put_in_force(&next);
		if (err && err != -EBUSY)
			snprintf(next.why, sizeof(next.why), "could not be attached: %s",
				 strerror(-err));
	}
	if (err) {
		drop(&next);
		/* A failed swap leaves the one in force where it is. */
		if (p->state == POLICY_ATTACHED)
			snprintf(p->why, sizeof(p->why), "%s", next.why);
		else
			fail(p, name, &next, err);
		return err;
	}

	drop(p);
	*p = next;
	p->state = POLICY_ATTACHED;
	kernel_policy_read(p->kernel_name);
	log_event(LOG_INFO, "policy-attached", NULL, name, "policy %s is in force (%s)", name,
		  p->adopted ? "swapped into the link that was pinned" : "new link");
	return 0;
}

/* What the policy's exit() was told; "" when it left no word. */
static void read_exit(char *text, size_t size)
{
	_cleanup_close_ int fd = pin_map_open("last_exit", sizeof(uint32_t),
					      sizeof(struct mb_exit));
	struct mb_exit e = { 0 };
	uint32_t zero = 0;

	*text = 0;
	if (fd < 0 || bpf_map_lookup_elem(fd, &zero, &e) || !e.kind)
		return;
	snprintf(text, size, "%.*s (kind %u, code %lld)", (int)sizeof(e.msg), e.msg, e.kind,
		 (long long)e.code);
}

static void lost(struct policy *p)
{
	bool pinned = p->pin && !access(p->pin, F_OK);

	p->state = pinned ? POLICY_EJECTED : POLICY_REMOVED;
	if (!pinned) {
		log_event(LOG_NOTICE, "policy-removed", NULL, p->name,
			  "policy %s was removed by hand; the kernel's default is in force until "
			  "'migbatchctl policy switch' or a reload", p->name);
		return;
	}
	read_exit(p->why, sizeof(p->why));
	log_event(LOG_ERR, "policy-ejected", NULL, p->name,
		  "the kernel let policy %s go: %s; its default is in force until 'migbatchctl "
		  "policy switch' or a reload", p->name, *p->why ? p->why : "see its log");
}

bool policy_check(struct policy *p)
{
	enum policy_state before = p->state;
	char name[KERNEL_POLICY_MAX];

	if (kernel_policy_read(name))
		return false;
	if (p->state == POLICY_ATTACHED && !*name)
		lost(p);
	else if (p->state == POLICY_FOREIGN && !*name)
		p->state = POLICY_OFF;
	memcpy(p->kernel_name, name, sizeof(name));
	return p->state != before;
}

void policy_detach(struct policy *p)
{
	int fd = p->pin ? bpf_obj_get(p->pin) : -1;

	/* Detaching acts at once, also when somebody else holds the link open. */
	if (fd >= 0) {
		bpf_link_detach(fd);
		close(fd);
	}
	if (p->pin)
		unlink(p->pin);
	if (p->state == POLICY_ATTACHED)
		log_event(LOG_INFO, "policy-detached", NULL, p->name,
			  "policy %s is out of force, the kernel's default is back", p->name);
	if (p->obj)
		bpfobj_unpin_maps(p->obj);
	policy_forget(p);
	p->kernel_name[0] = 0;
}
