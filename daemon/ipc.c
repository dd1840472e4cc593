// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <grp.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "ipc.h"
#include "log.h"
#include "util.h"

#define CLIENTS_MAX 32

/* A client that neither asks nor reads for so long has hung, and holds one of the places. */
#define IDLE_USEC (30 * 1000000ULL)

struct client {
	struct ipc_server *server;
	sd_event_source *io;
	sd_event_source *timer;
	int fd;
	bool root;
	char in[IPC_REQUEST_MAX];
	size_t in_len;
	char *out;
	size_t out_len;
	size_t out_sent;
};

struct ipc_server {
	sd_event *event;
	sd_event_source *io;
	char *path;
	int fd;
	ipc_handler_fn handler;
	void *data;
	struct client *clients[CLIENTS_MAX];
};

static void client_free(struct client *c)
{
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (c->server->clients[i] == c)
			c->server->clients[i] = NULL;
	sd_event_source_disable_unref(c->io);
	sd_event_source_disable_unref(c->timer);
	close(c->fd);
	free(c->out);
	free(c);
}

static void client_touch(struct client *c)
{
	sd_event_source_set_time_relative(c->timer, IDLE_USEC);
}

/* Sends what can be sent now, and asks for the moment when the rest can. */
static int client_flush(struct client *c)
{
	while (c->out_sent < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_sent, c->out_len - c->out_sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return sd_event_source_set_io_events(c->io, EPOLLOUT);
		if (n < 0)
			return -errno;
		c->out_sent += n;
		client_touch(c);
	}
	free(c->out);
	c->out = NULL;
	c->out_len = c->out_sent = 0;
	return sd_event_source_set_io_events(c->io, EPOLLIN);
}

static struct json_object *error_answer(const char *why)
{
	struct json_object *answer = json_object_new_object();

	json_object_object_add(answer, "ok", json_object_new_boolean(false));
	json_object_object_add(answer, "error", json_object_new_string(why));
	return answer;
}

static struct json_object *answer_to(struct client *c, const char *line)
{
	struct json_object *request = json_tokener_parse(line), *answer;
	char why[512] = "";
	int err;

	if (!json_object_is_type(request, json_type_object)) {
		json_object_put(request);
		return error_answer("the request is not a JSON object");
	}
	answer = json_object_new_object();
	json_object_object_add(answer, "ok", json_object_new_boolean(true));
	err = c->server->handler(c->server->data, request, c->root, answer, why);
	json_object_put(request);
	if (!err)
		return answer;
	json_object_put(answer);
	return error_answer(*why ? why : strerror(-err));
}

static int client_answer(struct client *c, const char *line)
{
	struct json_object *answer = answer_to(c, line);
	const char *text = json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN);

	if (strlen(text) > IPC_ANSWER_MAX) {
		json_object_put(answer);
		answer = error_answer("the answer is too large; ask for one cgroup");
		text = json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN);
	}
	c->out = str_printf("%s\n", text);
	json_object_put(answer);
	if (!c->out)
		return -ENOMEM;
	c->out_len = strlen(c->out);
	return client_flush(c);
}

/* Answers the requests that are complete, one at a time: the next waits until one is sent. */
static int client_work(struct client *c)
{
	char *end;
	int err;

	while (!c->out && (end = memchr(c->in, '\n', c->in_len))) {
		size_t len = end - c->in + 1;
		char line[IPC_REQUEST_MAX];

		memcpy(line, c->in, len - 1);
		line[len - 1] = 0;
		memmove(c->in, c->in + len, c->in_len - len);
		c->in_len -= len;
		err = client_answer(c, line);
		if (err < 0)
			return err;
	}
	return c->in_len == sizeof(c->in) && !c->out ? -EMSGSIZE : 0;
}

static int client_read(struct client *c)
{
	ssize_t n = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -ECONNRESET;
	c->in_len += n;
	client_touch(c);
	return 0;
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct client *c = data;
	int err = 0;

	(void)source;
	(void)fd;
	if (events & EPOLLOUT)
		err = client_flush(c);
	else if (events & EPOLLIN)
		err = client_read(c);
	else
		err = -ECONNRESET;
	if (err >= 0)
		err = client_work(c);
	if (err < 0)
		client_free(c);
	return 0;
}

static int on_idle(sd_event_source *source, uint64_t usec, void *data)
{
	(void)source;
	(void)usec;
	client_free(data);
	return 0;
}

static int client_new(struct ipc_server *s, int fd, size_t place)
{
	struct client *c = calloc(1, sizeof(*c));
	struct ucred cred = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(cred);
	int err;

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->server = s;
	c->fd = fd;
	s->clients[place] = c;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
		err = -errno;
		goto fail;
	}
	c->root = cred.uid == 0;
	err = sd_event_add_io(s->event, &c->io, fd, EPOLLIN, on_client, c);
	if (err >= 0)
		err = sd_event_add_time_relative(s->event, &c->timer, CLOCK_MONOTONIC, IDLE_USEC,
						 0, on_idle, c);
	if (err >= 0)
		return 0;
fail:
	client_free(c);
	return err;
}

static int on_connect(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct ipc_server *s = data;
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)source;
	(void)events;
	if (client < 0)
		return 0;
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		if (s->clients[i])
			continue;
		client_new(s, client, i);
		return 0;
	}
	close(client);
	return 0;
}

/* The group is optional: without it only root can talk to the daemon. */
static void give_to_group(const char *path)
{
	struct group *group = getgrnam(IPC_GROUP);

	if (!group) {
		log_line(LOG_INFO, "no group '" IPC_GROUP "': only root can use migbatchctl "
			 "(systemd-sysusers creates it)");
		return;
	}
	if (chown(path, 0, group->gr_gid) < 0 || chmod(path, 0660) < 0)
		log_line(LOG_WARNING, "%s: cannot be given to group " IPC_GROUP ": %s", path,
			 strerror(errno));
}

static int listen_at(struct ipc_server *s)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	mode_t mask;
	int ret;

	if (strlen(s->path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, s->path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	/* One that a killed daemon left; a live one would have been noticed by its service. */
	unlink(s->path);
	mask = umask(0177);
	ret = bind(s->fd, (struct sockaddr *)&addr, sizeof(addr));
	umask(mask);
	if (ret < 0 || listen(s->fd, CLIENTS_MAX) < 0)
		return -errno;
	give_to_group(s->path);
	return sd_event_add_io(s->event, &s->io, s->fd, EPOLLIN, on_connect, s);
}

int ipc_server_new(struct ipc_server **server, sd_event *event, const char *path,
		   ipc_handler_fn handler, void *data)
{
	struct ipc_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->fd = -1;
	s->event = event;
	s->handler = handler;
	s->data = data;
	s->path = strdup(path);
	err = s->path ? listen_at(s) : -ENOMEM;
	if (err < 0) {
		ipc_server_free(s);
		return err;
	}
	*server = s;
	return 0;
}

void ipc_server_free(struct ipc_server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (s->clients[i])
			client_free(s->clients[i]);
	sd_event_source_disable_unref(s->io);
	if (s->fd >= 0) {
		unlink(s->path);
		close(s->fd);
	}
	free(s->path);
	free(s);
}
