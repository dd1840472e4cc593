/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control socket: a UNIX stream, one JSON object a line in each direction.
 *
 * Who may connect is the socket file's mode (root and group migbatch); who may change anything is
 * root alone, by SO_PEERCRED. A request is {"op": NAME, ...}; an answer has "ok": true, or
 * "ok": false and "error" with a sentence for the user.
 */
#ifndef MIGBATCH_IPC_H
#define MIGBATCH_IPC_H

#include <stdbool.h>
#include <systemd/sd-event.h>

#define IPC_SOCKET "/run/migbatch/daemon/control"
#define IPC_GROUP "migbatch"

/* A request is a few words; an answer has up to 0.5 KB for each histogram. */
#define IPC_REQUEST_MAX 8192
#define IPC_ANSWER_MAX (16 << 20)

struct json_object;
struct ipc_server;

/*
 * Answers @request: fills @answer, returns 0 or a negative errno with a sentence in @why (of 512
 * bytes). @root tells whether the caller may change anything.
 */
typedef int (*ipc_handler_fn)(void *data, struct json_object *request, bool root,
			      struct json_object *answer, char *why);

int ipc_server_new(struct ipc_server **server, sd_event *event, const char *path,
		   ipc_handler_fn handler, void *data);
void ipc_server_free(struct ipc_server *server);

#endif /* MIGBATCH_IPC_H */
