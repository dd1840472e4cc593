// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "cgroups.h"
#include "log.h"
#include "util.h"

/* Deeper than any real tree; bounds the recursion (cgroup.max.depth has no default limit). */
#define DEPTH_MAX 64

#define WATCH_MASK (IN_CREATE | IN_DELETE | IN_ONLYDIR | IN_DONT_FOLLOW)

char *cgroup_root_find(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *entry;
	char *root = NULL;

	if (!mounts)
		return NULL;
	while (!root && (entry = getmntent(mounts)))
		if (!strcmp(entry->mnt_type, "cgroup2"))
			root = strdup(entry->mnt_dir);
	endmntent(mounts);
	return root;
}

int cgroups_open(struct cgroups *c, const char *root)
{
	struct statfs fs;

	*c = (struct cgroups){ .inotify_fd = -1 };
	if (statfs(root, &fs) < 0)
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC)
		return -EMEDIUMTYPE;
	c->root = strdup(root);
	if (!c->root)
		return -ENOMEM;
	c->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (c->inotify_fd < 0) {
		int err = -errno;

		cgroups_close(c);
		return err;
	}
	return 0;
}

void cgroups_close(struct cgroups *c)
{
	for (size_t i = 0; i < c->nr; i++)
		free(c->list[i].path);
	free(c->list);
	free(c->root);
	if (c->inotify_fd >= 0)
		close(c->inotify_fd);
	*c = (struct cgroups){ .inotify_fd = -1 };
}

bool cgroups_drain(struct cgroups *c)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool any = false;

	while (read(c->inotify_fd, buf, sizeof(buf)) > 0)
		any = true;
	return any;
}

static void watch(struct cgroups *c, const char *full)
{
	/* The kernel drops a watch with its directory, and an old one is only found again. */
	if (inotify_add_watch(c->inotify_fd, full, WATCH_MASK) >= 0 || errno == ENOENT)
		return;
	if (!c->watch_failed)
		log_line(LOG_WARNING, "new cgroups below %s are noticed late (%s); raise "
			 "fs.inotify.max_user_watches", full, strerror(errno));
	c->watch_failed = true;
}

struct scan {
	struct cgroups *c;
	struct cgroup *list;
	size_t nr;
	size_t room;
};

static int scan_add(struct scan *s, const char *path, uint64_t id)
{
	struct cgroup *list;

	if (s->nr == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		list = reallocarray(s->list, s->room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		s->list = list;
	}
	s->list[s->nr] = (struct cgroup){ .path = strdup(path), .id = id };
	return s->list[s->nr++].path ? 0 : -ENOMEM;
}

static bool is_child(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") &&
	       strcmp(entry->d_name, "..");
}

static int scan_dir(struct scan *s, const char *path, int depth)
{
	_cleanup_free_ char *full = path_join(s->c->root, path);
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int err;

	if (!full)
		return -ENOMEM;
	/* Watched before it is read: a child made in between is seen by one or the other. */
	watch(s->c, full);
	dir = opendir(full);
	if (!dir)
		return errno == ENOENT && depth ? 0 : -errno;
	err = fstat(dirfd(dir), &st) < 0 ? -errno : scan_add(s, path, st.st_ino);
	while (!err && depth < DEPTH_MAX && (entry = readdir(dir))) {
		_cleanup_free_ char *child = NULL;

		if (!is_child(entry))
			continue;
		child = path_join(path, entry->d_name);
		err = child ? scan_dir(s, child, depth + 1) : -ENOMEM;
	}
	closedir(dir);
	return err;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct cgroup *)a)->path, ((const struct cgroup *)b)->path);
}

/* Carries over what is known of the cgroups that are still there, and reports the others. */
static void scan_merge(struct scan *s, void (*gone)(struct cgroup *cgroup, void *data), void *data)
{
	struct cgroups *c = s->c;
	size_t n = 0;

	for (size_t i = 0; i < c->nr; i++) {
		struct cgroup *old = &c->list[i];

		while (n < s->nr && strcmp(s->list[n].path, old->path) < 0)
			n++;
		if (n < s->nr && !strcmp(s->list[n].path, old->path) && s->list[n].id == old->id) {
			free(s->list[n].path);
			s->list[n] = *old;
			continue;
		}
		gone(old, data);
		free(old->path);
	}
	free(c->list);
	c->list = s->list;
	c->nr = s->nr;
}

int cgroups_scan(struct cgroups *c, void (*gone)(struct cgroup *cgroup, void *data), void *data)
{
	struct scan s = { .c = c };
	int err;

	err = scan_dir(&s, "/", 0);
	if (err) {
		for (size_t i = 0; i < s.nr; i++)
			free(s.list[i].path);
		free(s.list);
		return err;
	}
	qsort(s.list, s.nr, sizeof(*s.list), compare);
	scan_merge(&s, gone, data);
	return 0;
}

struct cgroup *cgroup_by_path(const struct cgroups *c, const char *path)
{
	struct cgroup key = { .path = (char *)path };

	return c->nr ? bsearch(&key, c->list, c->nr, sizeof(key), compare) : NULL;
}

struct cgroup *cgroup_by_id(const struct cgroups *c, uint64_t id)
{
	for (size_t i = 0; i < c->nr; i++)
		if (c->list[i].id == id)
			return &c->list[i];
	return NULL;
}

int cgroup_id_read(const char *root, const char *path, uint64_t *id)
{
	_cleanup_free_ char *full = path_join(root, path);
	struct stat st;

	if (!full)
		return -ENOMEM;
	if (stat(full, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	/* An inode number of cgroup2 is the cgroup's id (the high half is its generation). */
	*id = st.st_ino;
	return 0;
}
