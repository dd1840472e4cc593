/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the control groups of a system are mounted, and what that means for targets. Pure. */
#ifndef MIGBATCH_LAYOUT_H
#define MIGBATCH_LAYOUT_H

/*
 * What keeps targets from having an effect, in one sentence that says what to do; NULL when
 * nothing does. @mounts is the text of /proc/self/mounts, @root where cgroup2 is mounted (NULL:
 * nowhere), @controllers the text of its cgroup.controllers. malloc'd.
 */
char *layout_advice(const char *mounts, const char *root, const char *controllers);

#endif /* MIGBATCH_LAYOUT_H */
