/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * migbatchctl: one file per object, each ending in a table of its commands. A command builds one
 * JSON object; plain output is made from the same object, so that the two never differ in content.
 */
#ifndef MIGBATCH_CTL_H
#define MIGBATCH_CTL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* Exit statuses, as documented. Commands return these. */
enum {
	CTL_OK,
	CTL_FAILED,		/* refused or failed; or `check` found something missing */
	CTL_USAGE,
	CTL_NO_DAEMON,		/* what was asked for needs migbatchd, and it does not answer */
};

extern bool ctl_json;
extern bool ctl_pretty;

void p_err(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints @obj as JSON and lets go of it. */
void p_json(struct json_object *obj);

struct cmd {
	const char *name;
	int (*func)(int argc, char **argv);
};

/* Runs the command that argv[0] names (a unique beginning will do); none runs the first. */
int cmd_select(const struct cmd *cmds, size_t nr, const char *object, int argc, char **argv);
int cmd_usage(const char *object);

/*
 * Asks the daemon; lets go of @request. CTL_OK with its answer, else the exit status; a refusal is
 * printed, a daemon that does not answer only when @need.
 */
int client_call(struct json_object *request, struct json_object **answer, bool need);
struct json_object *client_request(const char *op);

/* Fields of an object; 0, false or NULL when there is none. */
const char *get_string(struct json_object *obj, const char *name);
int64_t get_number(struct json_object *obj, const char *name);
bool get_bool(struct json_object *obj, const char *name);
struct json_object *get_field(struct json_object *obj, const char *name);
void add_string(struct json_object *obj, const char *name, const char *value);
void add_number(struct json_object *obj, const char *name, int64_t value);
void add_bool(struct json_object *obj, const char *name, bool value);

/* "-" for none, else in 3 digits or so, as people read times. */
#define NICE_MAX 24
char *nice_time(char *buf, uint64_t ns);

/*
 * The answer to a "stats" request, from the daemon or, for root without a daemon, from the pinned
 * maps. @cgroup may be NULL.
 */
int ctl_stats(const char *cgroup, bool brief, struct json_object **answer);

int do_status(int argc, char **argv);
int do_policy(int argc, char **argv);
int do_target(int argc, char **argv);
int do_hist(int argc, char **argv);
int do_top(int argc, char **argv);
int do_check(int argc, char **argv);

#endif /* MIGBATCH_CTL_H */
