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

/* Of these, the places that nobody but root gets, and those that one other user gets. */
#define CLIENTS_ROOT 8
#define CLIENTS_USER 8

/*
 * A client holds one of the places. It may be idle for so long, but neither take longer for one
 * request to arrive nor for one answer to be taken, however slowly it goes on.
 */
#define IDLE_USEC (30 * 1000000ULL)

/* Requests of one client in a row, before others have their turn. */
#define REQUESTS_IN_A_ROW 4

/* Of objects in a request: it has but names and texts. */
#define NESTING_MAX 4

struct client {
	struct ipc_server *server;
	sd_event_source *io;
	sd_event_source *timer;
	sd_event_source *more;	/* requests that are complete wait for their turn */
	int fd;
	uid_t uid;
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
	sd_event_source_disable_unref(c->more);
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
	}
	if (c->out)
		client_touch(c);
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

/*
 * One whole JSON text and nothing behind it: json_tokener_parse() takes a beginning for the whole.
 * NULL for anything else, also for what nests too deeply.
 */
static struct json_object *parse_strictly(const char *line, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(NESTING_MAX);
	struct json_object *request;

	if (!tok)
		return NULL;
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* With the NUL behind it, which ends a text that could go on. */
	request = json_tokener_parse_ex(tok, line, len + 1);
	if (json_tokener_get_error(tok) != json_tokener_success ||
	    json_tokener_get_parse_end(tok) < len) {
		json_object_put(request);
		request = NULL;
	}
	json_tokener_free(tok);
	return request;
}

static struct json_object *answer_to(struct client *c, const char *line, size_t len)
{
	struct json_object *request = parse_strictly(line, len), *answer;
	char why[512] = "";
	int err;

	if (!json_object_is_type(request, json_type_object)) {
		json_object_put(request);
		return error_answer("the request is not a JSON object");
	}
	answer = json_object_new_object();
	json_object_object_add(answer, "ok", json_object_new_boolean(true));
	err = c->server->handler(c->server->data, request, c->uid == 0, answer, why);
	json_object_put(request);
	if (!err)
		return answer;
	json_object_put(answer);
	return error_answer(*why ? why : strerror(-err));
}

static int client_answer(struct client *c, const char *line, size_t len)
{
	struct json_object *answer = answer_to(c, line, len);
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

static bool request_waits(const struct client *c)
{
	return memchr(c->in, '\n', c->in_len) != NULL;
}

/* Answers the requests that are complete, one at a time: the next waits until one is sent. */
static int client_work(struct client *c)
{
	char line[IPC_REQUEST_MAX];
	int nr = 0, err;
	char *end;

	while (!c->out && nr++ < REQUESTS_IN_A_ROW &&
	       (end = memchr(c->in, '\n', c->in_len))) {
		size_t len = end - c->in;

		memcpy(line, c->in, len);
		line[len] = 0;
		c->in_len -= len + 1;
		memmove(c->in, end + 1, c->in_len);
		err = client_answer(c, line, len);
		if (err < 0)
			return err;
	}
	if (c->in_len == sizeof(c->in) && !request_waits(c))
		return -EMSGSIZE;
	/* What is left over is gone on with when all others had their turn. */
	return sd_event_source_set_enabled(c->more, !c->out && request_waits(c) ?
					   SD_EVENT_ON : SD_EVENT_OFF);
}

static int client_read(struct client *c)
{
	ssize_t n;

	/* Full of requests that wait: the socket may fill up as well. */
	if (c->in_len == sizeof(c->in))
		return 0;
	n = recv(c->fd, c->in + c->in_len, sizeof(c->in) - c->in_len, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -ECONNRESET;
	c->in_len += n;
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

/* Runs when nothing of a higher priority, which is all else, is due. */
static int on_more(sd_event_source *source, void *data)
{
	struct client *c = data;

	(void)source;
	if (client_work(c) < 0)
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

/* A place for one more client of that user, or -1. */
static int place_for(const struct ipc_server *s, uid_t uid)
{
	int free_places = 0, same = 0, place = -1;

	for (int i = 0; i < CLIENTS_MAX; i++) {
		if (s->clients[i]) {
			same += s->clients[i]->uid == uid;
			continue;
		}
		free_places++;
		place = i;
	}
	if (uid && (free_places <= CLIENTS_ROOT || same >= CLIENTS_USER))
		return -1;
	return place;
}

static int client_new(struct ipc_server *s, int fd, uid_t uid, int place)
{
	struct client *c = calloc(1, sizeof(*c));
	int err;

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->server = s;
	c->fd = fd;
	c->uid = uid;
	s->clients[place] = c;
	err = sd_event_add_io(s->event, &c->io, fd, EPOLLIN, on_client, c);
	if (err >= 0)
		err = sd_event_add_time_relative(s->event, &c->timer, CLOCK_MONOTONIC, IDLE_USEC,
						 0, on_idle, c);
	if (err >= 0)
		err = sd_event_add_defer(s->event, &c->more, on_more, c);
	if (err >= 0)
		err = sd_event_source_set_priority(c->more, SD_EVENT_PRIORITY_IDLE);
	if (err >= 0)
		err = sd_event_source_set_enabled(c->more, SD_EVENT_OFF);
	if (err < 0)
		client_free(c);
	return err;
}

static int on_connect(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct ipc_server *s = data;
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int place;

	(void)source;
	(void)events;
	if (client < 0)
		return 0;
	place = getsockopt(client, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ? -1 :
		place_for(s, cred.uid);
	if (place < 0)
		close(client);
	else
		client_new(s, client, cred.uid, place);
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
