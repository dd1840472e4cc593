// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <linux/types.h>
#include <migbatch/abi.h>

#include "bpfobj.h"
#include "kernel.h"
#include "util.h"

#define OPS_VALUE_TYPE "bpf_struct_ops_migrate_batch_ops"

static struct btf *cached;

const struct btf *kernel_btf(void)
{
	if (!cached)
		cached = btf__load_vmlinux_btf();
	return cached;
}

void kernel_btf_drop(void)
{
	btf__free(cached);
	cached = NULL;
}

static int32_t ops_value_type(const struct btf *btf)
{
	return btf__find_by_name_kind(btf, OPS_VALUE_TYPE, BTF_KIND_STRUCT);
}

void kernel_features_read(struct kernel_features *features)
{
	const struct btf *btf = kernel_btf();

	*features = (struct kernel_features){ 0 };
	if (!btf) {
		features->btf_error = -errno;
		return;
	}
	/*
	 * The tracepoint, not only the struct: the observer attaches to it, and the struct alone
	 * may be known to a kernel whose series is older than these programs.
	 */
	features->batch = btf__find_by_name_kind(btf, "migrate_batch", BTF_KIND_STRUCT) > 0 &&
			  btf__find_by_name_kind(btf, "btf_trace_mm_migrate_batch_end",
						 BTF_KIND_TYPEDEF) > 0;
	features->policies = ops_value_type(btf) > 0;
}

const char *kernel_features_advice(const struct kernel_features *features)
{
	if (features->btf_error)
		return "the kernel has no readable BTF in /sys/kernel/btf/vmlinux: "
		       "build it with CONFIG_DEBUG_INFO_BTF=y";
	if (!features->batch)
		return "this kernel does not have the migbatch series (no struct migrate_batch): "
		       "boot the patched kernel, built with CONFIG_MIGRATE_BATCH=y and "
		       "CONFIG_MIGRATE_BATCH_BPF=y";
	if (!features->policies)
		return "this kernel takes no policies: build it with CONFIG_MIGRATE_BATCH_BPF=y";
	return NULL;
}

int kernel_policy_read(char *name)
{
	_cleanup_free_ char *text = NULL;
	int err = file_read(KERNEL_SYSFS "/policy", &text);

	if (err)
		return err;
	if (!strcmp(text, "none"))
		*text = 0;
	snprintf(name, KERNEL_POLICY_MAX, "%s", text);
	return 0;
}

static char *link_pin(uint32_t id)
{
	struct bpf_link_info info;
	struct dirent *entry;
	char *found = NULL;
	DIR *dir = opendir(MB_PIN_DIR);
	uint32_t len;

	if (!dir)
		return NULL;
	while (!found && (entry = readdir(dir))) {
		_cleanup_free_ char *path = path_join(MB_PIN_DIR, entry->d_name);
		_cleanup_close_ int fd = -1;

		if (!path || entry->d_name[0] == '.')
			continue;
		fd = bpf_obj_get(path);
		len = sizeof(info);
		memset(&info, 0, sizeof(info));
		if (fd < 0 || !bpf_fd_is_link(fd) || bpf_link_get_info_by_fd(fd, &info, &len) ||
		    info.id != id)
			continue;
		found = path;
		path = NULL;
	}
	closedir(dir);
	return found;
}

/*
 * info.struct_ops.map_id: the first word of the union. Named only by headers newer than those of
 * Debian 12, so it is read by its place.
 */
static uint32_t link_map_id(const struct bpf_link_info *info)
{
	return info->netns.netns_ino;
}

/* 1 if @link now describes the link of a policy, 0 if @id is a link of another kind. */
static int link_read(uint32_t id, int32_t value_type, struct kernel_link *link)
{
	struct bpf_link_info info = { 0 };
	struct bpf_map_info map = { 0 };
	_cleanup_close_ int fd = bpf_link_get_fd_by_id(id);
	_cleanup_close_ int map_fd = -1;
	uint32_t len = sizeof(info);

	/* It may have gone since its id was listed. */
	if (fd < 0 || bpf_link_get_info_by_fd(fd, &info, &len))
		return 0;
	if (info.type != BPF_LINK_TYPE_STRUCT_OPS || !link_map_id(&info))
		return 0;
	map_fd = bpf_map_get_fd_by_id(link_map_id(&info));
	len = sizeof(map);
	if (map_fd < 0 || bpf_map_get_info_by_fd(map_fd, &map, &len))
		return 0;
	if ((int32_t)map.btf_vmlinux_value_type_id != value_type)
		return 0;

	*link = (struct kernel_link){ .id = id, .map_id = map.id, .pin = link_pin(id) };
	snprintf(link->map_name, sizeof(link->map_name), "%s", map.name);
	return 1;
}

int kernel_links_read(struct kernel_link **links, unsigned int *nr)
{
	const struct btf *btf = kernel_btf();
	struct kernel_link *list = NULL, link;
	int32_t value_type;
	uint32_t id = 0;
	int err = 0;

	*links = NULL;
	*nr = 0;
	if (!btf)
		return -errno;
	value_type = ops_value_type(btf);
	if (value_type <= 0)
		return 0;

	while (!bpf_link_get_next_id(id, &id)) {
		if (!link_read(id, value_type, &link))
			continue;
		list = reallocarray(*links, *nr + 1, sizeof(link));
		if (!list) {
			free(link.pin);
			return -ENOMEM;
		}
		*links = list;
		list[(*nr)++] = link;
	}
	if (errno != ENOENT)
		err = -errno;
	return err;
}

void kernel_links_free(struct kernel_link *links, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		free(links[i].pin);
	free(links);
}
