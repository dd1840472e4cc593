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
#include <sys/xattr.h>

#include "cgroups.h"
#include "layout.h"
#include "log.h"
#include "util.h"

/* Deeper than any real tree; bounds the recursion (cgroup.max.depth has no default limit). */
#define DEPTH_MAX 64

/* IN_ATTRIB: also of extended attributes that are set. */
#define WATCH_MASK (IN_CREATE | IN_DELETE | IN_ATTRIB | IN_ONLYDIR | IN_DONT_FOLLOW)

static const char *const xattr_names[CGROUP_NR_XATTRS] = {
	[CGROUP_TRUSTED] = XATTR_TRUSTED,
	[CGROUP_USER] = XATTR_USER,
};

/* Longer than any target's text: what is longer is cut, and then refused like any bad text. */
#define XATTR_MAX 128

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

char *cgroup_layout_advice(const char *root)
{
	_cleanup_free_ char *path = root ? path_join(root, "cgroup.controllers") : NULL;
	_cleanup_free_ char *mounts = NULL, *controllers = NULL;

	if (file_read("/proc/self/mounts", &mounts) || (path && file_read(path, &controllers)))
		return NULL;
	return layout_advice(mounts, root, controllers);
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

static void cgroup_free(struct cgroup *cgroup)
{
	free(cgroup->path);
	for (int i = 0; i < CGROUP_NR_XATTRS; i++)
		free(cgroup->xattrs[i]);
}

void cgroups_close(struct cgroups *c)
{
	for (size_t i = 0; i < c->nr; i++)
		cgroup_free(&c->list[i]);
	free(c->list);
	idmap_free(&c->by_id);
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
	struct idmap by_id;
};

/* An attribute without a target's text is as none; one that may not be read is none for us. */
static char *xattr_read(const char *full, const char *name)
{
	char text[XATTR_MAX];
	ssize_t len = lgetxattr(full, name, text, sizeof(text));

	if (len < 0 && errno == ERANGE)
		return strdup("(longer than any target)");
	return len > 0 ? strndup(text, len) : NULL;
}

static int scan_add(struct scan *s, const char *path, const char *full, uint64_t id)
{
	struct cgroup *list;

	if (s->nr == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		list = reallocarray(s->list, s->room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		s->list = list;
	}
	list = &s->list[s->nr];
	*list = (struct cgroup){ .path = strdup(path), .id = id };
	for (int i = 0; i < CGROUP_NR_XATTRS; i++)
		list->xattrs[i] = xattr_read(full, xattr_names[i]);
	return s->list[s->nr++].path ? 0 : -ENOMEM;
}

static bool is_child(const struct dirent *entry)
{
	return entry->d_type == DT_DIR && strcmp(entry->d_name, ".") &&
	       strcmp(entry->d_name, "..");
}

static int scan_dir(struct scan *s, const char *path, int depth);

static int scan_children(struct scan *s, const char *path, const char *full, int depth)
{
	struct dirent *entry;
	int err = 0;
	DIR *dir = opendir(full);

	if (!dir)
		return errno == ENOENT && depth ? 0 : -errno;
	while (!err && (entry = readdir(dir))) {
		_cleanup_free_ char *child = NULL;

		if (!is_child(entry))
			continue;
		child = path_join(path, entry->d_name);
		err = child ? scan_dir(s, child, depth + 1) : -ENOMEM;
	}
	closedir(dir);
	return err;
}

static int scan_dir(struct scan *s, const char *path, int depth)
{
	_cleanup_free_ char *full = path_join(s->c->root, path);
	struct stat st;
	int err;

	if (!full)
		return -ENOMEM;
	/* Watched before it is read: a child made in between is seen by one or the other. */
	watch(s->c, full);
	if (lstat(full, &st) < 0)
		return errno == ENOENT && depth ? 0 : -errno;
	err = scan_add(s, path, full, st.st_ino);
	/*
	 * Two links are its own name and ".", and each child has one more in "..": most cgroups
	 * have no children, and reading their dozens of files is most of what a scan would cost.
	 */
	if (!err && st.st_nlink > 2 && depth < DEPTH_MAX)
		err = scan_children(s, path, full, depth);
	return err;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct cgroup *)a)->path, ((const struct cgroup *)b)->path);
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* The new finding of a cgroup that was known: what is known of it goes on. */
static void carry_over(struct cgroup *fresh, struct cgroup *old)
{
	struct cgroup merged = *old;

	merged.path = fresh->path;
	merged.resolved &= !strcmp(fresh->path, old->path);
	fresh->path = old->path;
	for (int i = 0; i < CGROUP_NR_XATTRS; i++) {
		merged.resolved &= same_text(fresh->xattrs[i], old->xattrs[i]);
		merged.xattrs[i] = fresh->xattrs[i];
		fresh->xattrs[i] = old->xattrs[i];
	}
	*old = *fresh;		/* its texts alone matter: they are freed */
	*fresh = merged;
}

/*
 * Carries over what is known of the cgroups that are still there, and reports the others. By id:
 * another cgroup of the same path is another, and the same with another name is the same.
 */
static void scan_merge(struct scan *s, void (*gone)(struct cgroup *cgroup, void *data), void *data)
{
	struct cgroups *c = s->c;

	for (size_t i = 0; i < c->nr; i++) {
		struct cgroup *old = &c->list[i];
		size_t place = idmap_get(&s->by_id, old->id);

		if (place != IDMAP_NONE)
			carry_over(&s->list[place], old);
		else
			gone(old, data);
		cgroup_free(old);
	}
	free(c->list);
	idmap_free(&c->by_id);
	c->list = s->list;
	c->nr = s->nr;
	c->by_id = s->by_id;
}

static int scan_index(struct scan *s)
{
	int err = 0;

	qsort(s->list, s->nr, sizeof(*s->list), compare);
	for (size_t i = 0; !err && i < s->nr; i++)
		err = idmap_set(&s->by_id, s->list[i].id, i);
	return err;
}

int cgroups_scan(struct cgroups *c, void (*gone)(struct cgroup *cgroup, void *data), void *data)
{
	struct scan s = { .c = c };
	int err;

	err = scan_dir(&s, "/", 0);
	if (!err)
		err = scan_index(&s);
	if (err) {
		for (size_t i = 0; i < s.nr; i++)
			cgroup_free(&s.list[i]);
		free(s.list);
		idmap_free(&s.by_id);
		return err;
	}
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
	size_t place = idmap_get(&c->by_id, id);

	return place == IDMAP_NONE ? NULL : &c->list[place];
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
