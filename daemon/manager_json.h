/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the daemon's answers are made of. */
#ifndef MIGBATCH_MANAGER_JSON_H
#define MIGBATCH_MANAGER_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "manager.h"

void add_string(struct json_object *obj, const char *name, const char *value);
void add_number(struct json_object *obj, const char *name, uint64_t value);
void add_bool(struct json_object *obj, const char *name, bool value);

struct json_object *policy_json(const struct manager *m);
struct json_object *resolved_json(const struct resolved *r);

#endif /* MIGBATCH_MANAGER_JSON_H */
