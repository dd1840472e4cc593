// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpfobj.h"
#include "kernel.h"
#include "log.h"
#include "observe.h"
#include "util.h"

#define PREFIX_PATCHED "batch_"
#define PREFIX_PLAIN "plain_"

static bool has_prefix(const struct bpf_program *prog, const char *prefix)
{
	return !strncmp(bpf_program__name(prog), prefix, strlen(prefix));
}

#define SECTION_TP "tp_btf/"

static bool has_tracepoint(const struct btf *btf, const struct bpf_program *prog)
{
	const char *section = bpf_program__section_name(prog);
	char name[128];

	section += *section == '?';
	if (strncmp(section, SECTION_TP, strlen(SECTION_TP)))
		return true;
	snprintf(name, sizeof(name), "btf_trace_%s", section + strlen(SECTION_TP));
	return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
}

/*
 * Takes one set of programs. A tracepoint that this kernel was built without (those of huge pages,
 * say) takes its program with it, not the whole observer.
 */
static int choose_programs(struct bpf_object *obj, bool patched)
{
	const char *wanted = patched ? PREFIX_PATCHED : PREFIX_PLAIN;
	const struct btf *btf = kernel_btf();
	struct bpf_program *prog;

	if (!btf)
		return -errno;
	bpf_object__for_each_program(prog, obj) {
		bool want = has_prefix(prog, wanted);

		if (want && !has_tracepoint(btf, prog)) {
			log_line(LOG_NOTICE, "this kernel lacks the tracepoint of %s (%s), going "
				 "on without", bpf_program__name(prog),
				 bpf_program__section_name(prog));
			want = false;
		}
		bpf_program__set_autoload(prog, want);
	}
	return 0;
}

static int attach_programs(struct observer *o)
{
	struct bpf_program *prog;
	unsigned int nr = 0;

	bpf_object__for_each_program(prog, o->obj)
		nr += bpf_program__autoload(prog);
	o->links = calloc(nr, sizeof(*o->links));
	if (!o->links)
		return -ENOMEM;

	bpf_object__for_each_program(prog, o->obj) {
		struct bpf_link *link;
		int err;

		if (!bpf_program__autoload(prog))
			continue;
		link = bpf_program__attach(prog);
		if (!link) {
			err = -errno;
			snprintf(o->why, sizeof(o->why), "program %s (%s) cannot be attached: %s",
				 bpf_program__name(prog), bpf_program__section_name(prog),
				 strerror(-err));
			return err;
		}
		o->links[o->nr_links++] = link;
	}
	return o->nr_links ? 0 : -ENOENT;
}

static int start(struct observer *o, const char *dir)
{
	int err;

	err = bpfobj_open(dir, "observe", &o->obj, &o->image, o->why);
	if (err)
		return err;
	err = choose_programs(o->obj, !o->plain);
	if (err)
		return err;
	err = bpfobj_pin_maps(o->obj, o->why);
	if (err)
		return err;
	err = bpf_object__load(o->obj);
	if (err) {
		snprintf(o->why, sizeof(o->why),
			 "the observer's programs were refused by the kernel: %s", strerror(-err));
		return err;
	}
	return attach_programs(o);
}

int observer_start(struct observer *o, const char *dir, bool patched)
{
	char why[sizeof(o->why)];
	int err;

	*o = (struct observer){ .plain = !patched };
	err = start(o, dir);
	if (err) {
		memcpy(why, o->why, sizeof(why));
		observer_stop(o);
		memcpy(o->why, why, sizeof(why));
		log_event(LOG_ERR, "observer-failed", NULL, NULL, "nothing is measured: %s",
			  o->why);
	}
	return err;
}

void observer_stop(struct observer *o)
{
	for (unsigned int i = 0; i < o->nr_links; i++)
		bpf_link__destroy(o->links[i]);
	free(o->links);
	if (o->obj)
		bpfobj_unpin_maps(o->obj);
	bpf_object__close(o->obj);
	free(o->image);
	*o = (struct observer){ 0 };
}
