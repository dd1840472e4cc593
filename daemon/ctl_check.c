// SPDX-License-Identifier: GPL-2.0-or-later
/* migbatchctl check: each thing that must be there, and what to do where it is not. */
#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "bpfobj.h"
#include "cgroups.h"
#include "ctl.h"
#include "kernel.h"
#include "util.h"
#include "version.h"

enum result {
	RESULT_OK,
	RESULT_MISSING,		/* the product does not work without */
	RESULT_NOTE,		/* it works, but not at its best */
};

static const char *const result_names[] = {
	[RESULT_OK] = "ok",
	[RESULT_MISSING] = "MISSING",
	[RESULT_NOTE] = "note",
};

struct checks {
	struct json_object *list;
	unsigned int missing;
};

/* One finding; @todo says what to do and is left out when all is well. */
static void __attribute__((format(printf, 5, 6)))
found(struct checks *c, const char *what, enum result result, const char *todo, const char *fmt,
      ...)
{
	struct json_object *obj = json_object_new_object();
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	add_string(obj, "check", what);
	add_string(obj, "result", result_names[result]);
	add_string(obj, "found", len < 0 ? NULL : text);
	add_string(obj, "todo", result == RESULT_OK ? NULL : todo);
	json_object_array_add(c->list, obj);
	c->missing += result == RESULT_MISSING;
}

static void check_root(struct checks *c)
{
	if (geteuid())
		found(c, "root", RESULT_NOTE, "run as root to see everything",
		      "not root: some things below cannot be seen");
	else
		found(c, "root", RESULT_OK, NULL, "yes");
}

static void check_btf(struct checks *c, const struct kernel_features *f)
{
	if (f->btf_error)
		found(c, "BTF", RESULT_MISSING,
		      "build the kernel with CONFIG_DEBUG_INFO_BTF=y (needs pahole)",
		      "/sys/kernel/btf/vmlinux: %s", strerror(-f->btf_error));
	else
		found(c, "BTF", RESULT_OK, NULL, "/sys/kernel/btf/vmlinux");
}

static void check_series(struct checks *c, const struct kernel_features *f)
{
	if (!access(KERNEL_SYSFS, F_OK) || f->batch)
		found(c, "CONFIG_MIGRATE_BATCH", RESULT_OK, NULL, KERNEL_SYSFS);
	else
		found(c, "CONFIG_MIGRATE_BATCH", RESULT_MISSING,
		      "boot the patched kernel (make -C kernel deb), with CONFIG_MIGRATE_BATCH=y; "
		      "until then migbatchd only observes", "no " KERNEL_SYSFS);
	if (f->policies)
		found(c, "CONFIG_MIGRATE_BATCH_BPF", RESULT_OK, NULL, "policies can be attached");
	else if (f->btf_error)
		found(c, "CONFIG_MIGRATE_BATCH_BPF", RESULT_MISSING,
		      "first CONFIG_DEBUG_INFO_BTF=y, without which no policy can be loaded",
		      "cannot be told without BTF");
	else
		found(c, "CONFIG_MIGRATE_BATCH_BPF", RESULT_MISSING,
		      "build the kernel with CONFIG_MIGRATE_BATCH_BPF=y (needs CONFIG_BPF_SYSCALL "
		      "and CONFIG_BPF_JIT)", "this kernel takes no policies");
}

static void check_mounts(struct checks *c)
{
	_cleanup_free_ char *root = cgroup_root_find();
	_cleanup_free_ char *path = root ? path_join(root, "cgroup.controllers") : NULL;
	_cleanup_free_ char *controllers = NULL;
	struct statfs fs;

	if (!statfs("/sys/fs/bpf", &fs) && fs.f_type == BPF_FS_MAGIC)
		found(c, "bpffs", RESULT_OK, NULL, "/sys/fs/bpf");
	else
		found(c, "bpffs", RESULT_MISSING,
		      "mount -t bpf bpf /sys/fs/bpf (CONFIG_BPF_SYSCALL=y)",
		      "not mounted on /sys/fs/bpf");

	if (!root) {
		found(c, "cgroup2", RESULT_MISSING,
		      "boot with systemd.unified_cgroup_hierarchy=1 (CONFIG_CGROUPS=y)",
		      "not mounted; cgroup v1 has no targets");
		return;
	}
	found(c, "cgroup2", RESULT_OK, NULL, "%s", root);
	if (path && !file_read(path, &controllers) && strstr(controllers, "memory"))
		found(c, "memory controller", RESULT_OK, NULL, "in cgroup2");
	else
		found(c, "memory controller", RESULT_MISSING,
		      "build the kernel with CONFIG_MEMCG=y, and boot without "
		      "cgroup_disable=memory or a v1 memory hierarchy: without it no folio has an "
		      "owner", "not in %s", path ? path : "cgroup2");
}

/* Entries of a directory of sysfs whose names begin with @prefix; -1 when it does not exist. */
static int count_entries(const char *path, const char *prefix)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int nr = 0;

	if (!dir)
		return -1;
	while ((entry = readdir(dir)))
		nr += !strncmp(entry->d_name, prefix, strlen(prefix));
	closedir(dir);
	return nr;
}

static void check_nodes(struct checks *c)
{
	_cleanup_free_ char *nodes = NULL;
	const char *path = "/sys/devices/system/node/has_memory";

	if (file_read(path, &nodes))
		found(c, "NUMA", RESULT_NOTE, "build the kernel with CONFIG_NUMA=y and "
		      "CONFIG_NUMA_MIGRATION=y", "no %s", path);
	else if (strpbrk(nodes, ",-"))
		found(c, "NUMA", RESULT_OK, NULL, "nodes with memory: %s", nodes);
	else
		found(c, "NUMA", RESULT_NOTE, "nothing to do: only compaction migrates pages here",
		      "one node with memory: %s", nodes);
}

/* PCI functions of the engine, by vendor and device. */
static int count_ptdma(void)
{
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *entry;
	int nr = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *path = str_printf("/sys/bus/pci/devices/%s/uevent",
						       entry->d_name);
		_cleanup_free_ char *text = NULL;

		if (entry->d_name[0] != '.' && path && !file_read(path, &text))
			nr += strstr(text, "PCI_ID=1022:1498") != NULL;
	}
	closedir(dir);
	return nr;
}

static void check_ptdma(struct checks *c)
{
	int devices = count_ptdma(), bound = count_entries("/sys/bus/pci/drivers/ptdma", "0");

	if (!devices)
		found(c, "PTDMA", RESULT_NOTE,
		      "nothing to do: another engine with DMA_MEMCPY serves too, and without any "
		      "the CPU copies", "no AMD PTDMA function on the PCI bus");
	else if (bound < 0)
		found(c, "PTDMA", RESULT_NOTE,
		      "modprobe ptdma (CONFIG_AMD_PTDMA=m or y, needs CONFIG_DMADEVICES=y)",
		      "%d functions, but no driver", devices);
	else if (bound < devices)
		found(c, "PTDMA", RESULT_NOTE, "see the kernel's log for ptdma",
		      "%d functions, the driver has taken %d", devices, bound);
	else
		found(c, "PTDMA", RESULT_OK, NULL, "%d functions, all with their driver", bound);
}

static void check_channels(struct checks *c)
{
	_cleanup_free_ char *text = NULL;
	unsigned int channels = 0, dead = 0;
	char *line, *rest = NULL;

	if (!file_read(KERNEL_DCBM "/channels", &text)) {
		for (line = strtok_r(text, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest)) {
			channels++;
			dead += strstr(line, " dead") != NULL;
		}
	}
	if (!channels)
		found(c, "channels", RESULT_NOTE,
		      "load the engine's driver (modprobe ptdma), then enable dcbm again; a "
		      "channel that another driver holds, as dmatest does, cannot be claimed",
		      "dcbm is enabled but has claimed none");
	else if (dead)
		found(c, "channels", RESULT_NOTE,
		      "the engine did not answer: see the kernel's log; reload its driver",
		      "%u claimed, %u of them dead", channels, dead);
	else
		found(c, "channels", RESULT_OK, NULL, "%u claimed", channels);
}

static void check_provider(struct checks *c)
{
	_cleanup_free_ char *enabled = NULL, *provider = NULL;

	if (access(KERNEL_SYSFS, F_OK))
		return;
	if (file_read(KERNEL_DCBM "/enabled", &enabled)) {
		if (!file_read(KERNEL_SYSFS "/provider", &provider) && *provider &&
		    strcmp(provider, "none"))
			found(c, "provider", RESULT_OK, NULL, "%s", provider);
		else
			found(c, "provider", RESULT_NOTE, "modprobe dcbm (CONFIG_DCBM=m or y)",
			      "dcbm is not loaded: the CPU copies all");
		return;
	}
	if (enabled[0] != '1' && enabled[0] != 'Y' && enabled[0] != 'y') {
		found(c, "provider", RESULT_NOTE, "echo 1 > " KERNEL_DCBM "/enabled",
		      "dcbm is loaded but not enabled: the CPU copies all");
		return;
	}
	found(c, "provider", RESULT_OK, NULL, "dcbm, enabled");
	check_channels(c);
}

static void check_object(struct checks *c, const char *name)
{
	_cleanup_free_ char *path = str_printf(MIGBATCH_LIBDIR "/%s" BPFOBJ_SUFFIX, name);
	_cleanup_free_ char *what = str_printf("%s" BPFOBJ_SUFFIX, name);
	char why[BPFOBJ_WHY_MAX] = "";
	_cleanup_close_ int fd = -1;

	if (!path || !what)
		return;
	if (bpfobj_trust(path, &fd, why))
		found(c, what, RESULT_MISSING, "install migbatch (make install)", "%s", why);
	else
		found(c, what, RESULT_OK, NULL, "%s", path);
}

static void check_daemon(struct checks *c)
{
	struct json_object *status;
	const char *mode;

	if (client_call(client_request("status"), &status, false)) {
		found(c, "migbatchd", RESULT_NOTE, "systemctl start migbatchd",
		      "does not answer (not running, or you may not talk to it)");
		return;
	}
	mode = get_string(status, "mode");
	if (!strcmp(mode, "control"))
		found(c, "migbatchd", RESULT_OK, NULL, "running, mode %s", mode);
	else
		found(c, "migbatchd", RESULT_NOTE,
		      "Mode=control in /etc/migbatch/migbatchd.conf lets it attach a policy",
		      "running, mode %s", mode);
	json_object_put(status);
}

static void print_check(struct json_object *check)
{
	const char *todo = get_string(check, "todo");

	printf("%-7s  %-26s %s\n", get_string(check, "result"), get_string(check, "check"),
	       get_string(check, "found"));
	if (todo)
		printf("%-7s  %-26s -> %s\n", "", "", todo);
}

int do_check(int argc, char **argv)
{
	struct checks c = { 0 };
	struct kernel_features features;
	struct json_object *obj;

	(void)argv;
	if (argc)
		return cmd_usage("check");
	c.list = json_object_new_array();
	kernel_features_read(&features);
	check_root(&c);
	check_btf(&c, &features);
	check_series(&c, &features);
	check_mounts(&c);
	check_nodes(&c);
	check_ptdma(&c);
	check_provider(&c);
	check_object(&c, "observe");
	check_object(&c, "policy_target");
	check_daemon(&c);

	obj = json_object_new_object();
	json_object_object_add(obj, "checks", c.list);
	add_number(obj, "missing", c.missing);
	if (ctl_json) {
		p_json(obj);
	} else {
		for (size_t i = 0; i < json_object_array_length(c.list); i++)
			print_check(json_object_array_get_idx(c.list, i));
		json_object_put(obj);
	}
	return c.missing ? CTL_FAILED : CTL_OK;
}
