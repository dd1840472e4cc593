// SPDX-License-Identifier: GPL-2.0-or-later
/* The client's end of the control socket. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "ctl.h"
#include "ipc.h"
#include "util.h"

/* The daemon answers from memory; even loading a policy takes it less than that. */
#define ANSWER_SECONDS 30

struct json_object *client_request(const char *op)
{
	struct json_object *request = json_object_new_object();

	add_string(request, "op", op);
	return request;
}

static int client_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = IPC_SOCKET };
	struct timeval timeout = { .tv_sec = ANSWER_SECONDS };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int client_send(int fd, struct json_object *request)
{
	_cleanup_free_ char *line = str_printf("%s\n",
		json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN));
	size_t len = line ? strlen(line) : 0;

	if (!line)
		return -ENOMEM;
	if (len > IPC_REQUEST_MAX)
		return -EMSGSIZE;
	return send(fd, line, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -EIO;
}

static int client_receive(int fd, char **line)
{
	_cleanup_free_ char *buf = NULL;
	size_t len = 0, size = 0;
	ssize_t n;

	do {
		if (size - len < 4096) {
			char *larger = realloc(buf, size = 2 * size + 8192);

			if (!larger)
				return -ENOMEM;
			buf = larger;
		}
		n = recv(fd, buf + len, size - len - 1, 0);
		if (n <= 0)
			return n ? -errno : -ECONNRESET;
		len += n;
		if (len > IPC_ANSWER_MAX + 1)
			return -EMSGSIZE;
	} while (buf[len - 1] != '\n');
	buf[len - 1] = 0;
	*line = buf;
	buf = NULL;
	return 0;
}

static int exchange(struct json_object *request, struct json_object **answer)
{
	_cleanup_close_ int fd = client_connect();
	_cleanup_free_ char *line = NULL;
	int err;

	if (fd < 0)
		return fd;
	err = client_send(fd, request);
	if (!err)
		err = client_receive(fd, &line);
	if (err)
		return err;
	*answer = json_tokener_parse(line);
	return json_object_is_type(*answer, json_type_object) ? 0 : -EPROTO;
}

static int no_daemon(int err, bool need)
{
	if (!need)
		return CTL_NO_DAEMON;
	if (err == -EACCES)
		p_err("may not talk to migbatchd: be root, or a member of group " IPC_GROUP);
	else if (err == -ENOENT || err == -ECONNREFUSED)
		p_err("migbatchd is not running (systemctl start migbatchd)");
	else
		p_err("migbatchd does not answer: %s", strerror(-err));
	return CTL_NO_DAEMON;
}

int client_call(struct json_object *request, struct json_object **answer, bool need)
{
	int err;

	*answer = NULL;
	err = exchange(request, answer);
	json_object_put(request);
	if (err) {
		json_object_put(*answer);
		return no_daemon(err, need);
	}
	if (get_bool(*answer, "ok")) {
		json_object_object_del(*answer, "ok");
		return CTL_OK;
	}
	p_err("%s", get_string(*answer, "error"));
	json_object_put(*answer);
	return CTL_FAILED;
}
