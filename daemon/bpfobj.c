// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/types.h>
#include <migbatch/abi.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "bpfobj.h"
#include "log.h"
#include "util.h"

/* Ours are below 1 MB with debug information; this bounds what is read into memory. */
#define IMAGE_MAX (16 << 20)

#define BPFFS "/sys/fs/bpf"

int bpfobj_trust(const char *path, int *fd, char *why)
{
	struct stat st;
	int opened = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (opened < 0) {
		int err = -errno;

		snprintf(why, BPFOBJ_WHY_MAX, "%s: %s", path,
			 err == -ELOOP ? "is a symbolic link, which is not followed" :
					 strerror(-err));
		return err;
	}
	if (fstat(opened, &st) < 0 || !S_ISREG(st.st_mode))
		snprintf(why, BPFOBJ_WHY_MAX, "%s: not a regular file", path);
	else if (st.st_uid)
		snprintf(why, BPFOBJ_WHY_MAX, "%s: owned by uid %u; only root's files are loaded "
			 "(chown root)", path, st.st_uid);
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		snprintf(why, BPFOBJ_WHY_MAX, "%s: writable by others than root, not loaded "
			 "(chmod go-w)", path);
	else if (st.st_size > IMAGE_MAX)
		snprintf(why, BPFOBJ_WHY_MAX, "%s: larger than %d MB, not loaded", path,
			 IMAGE_MAX >> 20);
	else {
		*fd = opened;
		return 0;
	}
	close(opened);
	return -EPERM;
}

static int image_read(int fd, void **image, size_t *size)
{
	_cleanup_free_ char *buf = NULL;
	struct stat st;
	size_t len = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	buf = malloc(st.st_size + 1);
	if (!buf)
		return -ENOMEM;
	while (len < (size_t)st.st_size) {
		ssize_t n = read(fd, buf + len, st.st_size - len);

		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += n;
	}
	*image = buf;
	*size = len;
	buf = NULL;
	return 0;
}

int bpfobj_open(const char *dir, const char *name, struct bpf_object **obj, void **image,
		char *why)
{
	_cleanup_free_ char *path = str_printf("%s/%s" BPFOBJ_SUFFIX, dir, name);
	struct bpf_object_open_opts opts = { .sz = sizeof(opts), .object_name = name };
	_cleanup_close_ int fd = -1;
	size_t size = 0;
	int err;

	if (!path)
		return -ENOMEM;
	err = bpfobj_trust(path, &fd, why);
	if (err)
		return err;
	err = image_read(fd, image, &size);
	if (!err) {
		*obj = bpf_object__open_mem(*image, size, &opts);
		if (*obj)
			return 0;
		err = -errno;
		free(*image);
		*image = NULL;
	}
	snprintf(why, BPFOBJ_WHY_MAX, "%s: not a usable BPF object: %s", path, strerror(-err));
	return err;
}

/* Maps of libbpf's own (.rodata and the like) hold no state worth keeping. */
static bool map_pinnable(const struct bpf_map *map)
{
	return !bpf_map__is_internal(map) && bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS;
}

static void pin_drop_if_other(const struct bpf_map *map, const char *path)
{
	_cleanup_close_ int fd = bpf_obj_get(path);
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	if (fd < 0)
		return;
	if (bpf_fd_is_map(fd) && !bpf_map_get_info_by_fd(fd, &info, &len) &&
	    info.type == bpf_map__type(map) && info.key_size == bpf_map__key_size(map) &&
	    info.value_size == bpf_map__value_size(map) &&
	    info.max_entries == bpf_map__max_entries(map) &&
	    info.map_flags == bpf_map__map_flags(map))
		return;
	log_event(LOG_NOTICE, "pin-dropped", NULL, NULL,
		  "%s is of another version and starts anew", path);
	unlink(path);
}

int bpfobj_pin_maps(struct bpf_object *obj, char *why)
{
	struct bpf_map *map;
	int err;

	err = pin_dir_make(why);
	if (err)
		return err;
	bpf_object__for_each_map(map, obj) {
		_cleanup_free_ char *path = path_join(MB_PIN_DIR, bpf_map__name(map));

		if (!map_pinnable(map))
			continue;
		if (!path)
			return -ENOMEM;
		pin_drop_if_other(map, path);
		err = bpf_map__set_pin_path(map, path);
		if (err) {
			snprintf(why, BPFOBJ_WHY_MAX, "%s: %s", path, strerror(-err));
			return err;
		}
	}
	return 0;
}

void bpfobj_unpin_maps(struct bpf_object *obj)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		const char *path = bpf_map__pin_path(map);

		if (path && map_pinnable(map))
			unlink(path);
	}
	rmdir(MB_PIN_DIR);
}

int pin_dir_make(char *why)
{
	struct statfs fs;

	if (statfs(BPFFS, &fs) < 0 || fs.f_type != BPF_FS_MAGIC) {
		snprintf(why, BPFOBJ_WHY_MAX, "no BPF file system on " BPFFS
			 ": mount -t bpf bpf " BPFFS);
		return -ENODEV;
	}
	if (mkdir(MB_PIN_DIR, 0700) < 0 && errno != EEXIST) {
		int err = -errno;

		snprintf(why, BPFOBJ_WHY_MAX, MB_PIN_DIR ": %s", strerror(-err));
		return err;
	}
	return 0;
}

static bool fd_is(int fd, const char *kind)
{
	char path[64], name[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, name, sizeof(name) - 1);
	if (len < 0)
		return false;
	name[len] = 0;
	return strstr(name, kind);
}

bool bpf_fd_is_link(int fd)
{
	return fd_is(fd, "bpf_link") || fd_is(fd, "bpf-link");
}

bool bpf_fd_is_map(int fd)
{
	return fd_is(fd, "bpf-map");
}

int pin_map_open(const char *name, size_t key_size, size_t value_size)
{
	_cleanup_free_ char *path = path_join(MB_PIN_DIR, name);
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	int fd;

	if (!path)
		return -ENOMEM;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -errno;
	if (!bpf_fd_is_map(fd) || bpf_map_get_info_by_fd(fd, &info, &len) ||
	    info.key_size != key_size || info.value_size != value_size) {
		close(fd);
		return -EPROTO;
	}
	return fd;
}

int pin_links_each(int (*visit)(int fd, const char *path, const char *name, void *data),
		   void *data)
{
	DIR *dir = opendir(MB_PIN_DIR);
	struct dirent *entry;
	int ret = 0;

	if (!dir)
		return 0;
	while (!ret && (entry = readdir(dir))) {
		_cleanup_free_ char *path = path_join(MB_PIN_DIR, entry->d_name);
		struct bpf_link_info info = { 0 };
		_cleanup_close_ int fd = -1;
		uint32_t len = sizeof(info);

		if (!path || entry->d_name[0] == '.')
			continue;
		fd = bpf_obj_get(path);
		if (fd < 0 || !bpf_fd_is_link(fd) || bpf_link_get_info_by_fd(fd, &info, &len) ||
		    info.type != BPF_LINK_TYPE_STRUCT_OPS)
			continue;
		ret = visit(fd, path, entry->d_name, data);
	}
	closedir(dir);
	return ret;
}

static int link_remove(int fd, const char *path, const char *name, void *data)
{
	(void)name;
	/*
	 * Detaching acts at once, also when somebody else holds the link open. It fails for a link
	 * that was detached before, of which only the pin is left to remove.
	 */
	bpf_link_detach(fd);
	if (!unlink(path))
		++*(int *)data;
	return 0;
}

int pin_links_remove(void)
{
	int removed = 0;

	pin_links_each(link_remove, &removed);
	return removed;
}

void pin_maps_remove(void)
{
	DIR *dir = opendir(MB_PIN_DIR);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *path = path_join(MB_PIN_DIR, entry->d_name);
		_cleanup_close_ int fd = -1;

		if (!path || entry->d_name[0] == '.')
			continue;
		fd = bpf_obj_get(path);
		if (fd >= 0 && bpf_fd_is_map(fd))
			unlink(path);
	}
	closedir(dir);
	rmdir(MB_PIN_DIR);
}
