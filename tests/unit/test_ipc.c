// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control socket under clients that mean no good or know no better: garbage, floods, slow and
 * half-open ones. Whatever they do, another client gets its answer in time, and the server lives.
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "ipc.h"
#include "log.h"
#include "util.h"

#define ANSWER_MS 10000

struct fixture {
	char dir[64];
	char path[96];
	pid_t server;
};

/* "big" asks for an answer that does not fit into any socket's buffer. */
static int handle(void *data, struct json_object *request, bool root, struct json_object *answer,
		  char *why)
{
	struct json_object *op;
	static char big[4 << 20];

	(void)data;
	if (!json_object_object_get_ex(request, "op", &op)) {
		snprintf(why, 512, "no operation");
		return -EINVAL;
	}
	if (!strcmp(json_object_get_string(op), "big")) {
		memset(big, 'x', sizeof(big) - 1);
		json_object_object_add(answer, "big", json_object_new_string(big));
	}
	json_object_object_add(answer, "root", json_object_new_boolean(root));
	return 0;
}

static void serve(const char *path)
{
	struct ipc_server *server;
	sd_event *event;

	log_open(false);
	if (sd_event_default(&event) < 0 || ipc_server_new(&server, event, path, handle, NULL) < 0)
		_exit(1);
	chmod(path, 0666);
	sd_event_loop(event);
	_exit(0);
}

static int dial(const struct fixture *f)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", f->path);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	close(fd);
	return -1;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd = -1;

	*state = f;
	signal(SIGPIPE, SIG_IGN);
	snprintf(f->dir, sizeof(f->dir), "/tmp/migbatch-ipc.XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	chmod(f->dir, 0755);
	snprintf(f->path, sizeof(f->path), "%s/control", f->dir);
	f->server = fork();
	if (!f->server)
		serve(f->path);
	for (int i = 0; i < 1000 && (fd = dial(f)) < 0; i++)
		usleep(10000);
	close(fd);
	return fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	int status;

	kill(f->server, SIGKILL);
	waitpid(f->server, &status, 0);
	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void say(int fd, const char *text, size_t len)
{
	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), len);
}

/* A line within the time, without its end; false when the connection was closed or is silent. */
static bool hear(int fd, char *line, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t len = 0;

	while (len + 1 < size && poll(&p, 1, ANSWER_MS) == 1 && recv(fd, line + len, 1, 0) == 1) {
		if (line[len] == '\n') {
			line[len] = 0;
			return true;
		}
		len++;
	}
	return false;
}

static void answers(int fd, const char *what)
{
	char line[512];

	if (!hear(fd, line, sizeof(line)))
		fail_msg("no answer");
	if (!strstr(line, what))
		fail_msg("no '%s' in: %s", what, line);
}

/* The server lives, and has an ear for somebody else. */
static void is_well(const struct fixture *f)
{
	static const char request[] = "{\"op\":\"x\"}\n";
	int fd = dial(f);

	assert_int_not_equal(fd, -1);
	say(fd, request, sizeof(request) - 1);
	answers(fd, "\"ok\":true");
	close(fd);
}

static void test_garbage(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} garbage[] = {
#define LINE(text) { text "\n", sizeof(text) }
		LINE(""), LINE("{"), LINE("[]"), LINE("null"), LINE("\"op\""), LINE("{\"op\":}"),
		LINE("{} {}"), LINE("{\"op\":\"x\"} x"), LINE("{\"op\":\"x\"}\0{"), LINE("\0"),
		LINE("\xff\xfe\x80"), LINE("{\"op\":\"\xff\"}"), LINE("{'op':'x'}"),
		LINE("GET / HTTP/1.1\r"), LINE("{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}"),
		LINE("{\"op\":\"x\",}"), LINE("/* */{}"),
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(garbage); i++) {
		int fd = dial(f);

		say(fd, garbage[i].text, garbage[i].len);
		answers(fd, "\"ok\":false");
		/* and the connection is as good as before */
		say(fd, "{\"op\":\"x\"}\n", 11);
		answers(fd, "\"ok\":true");
		close(fd);
	}
	is_well(f);
}

static void test_deep_nesting(void **state)
{
	struct fixture *f = *state;
	char text[IPC_REQUEST_MAX - 1];
	int fd = dial(f);

	memset(text, '[', sizeof(text));
	text[sizeof(text) - 1] = '\n';
	say(fd, text, sizeof(text));
	answers(fd, "\"ok\":false");
	close(fd);
	is_well(f);
}

/* A line that never ends is nobody's request. */
static void test_endless_line(void **state)
{
	struct fixture *f = *state;
	char text[IPC_REQUEST_MAX], line[64];
	int fd = dial(f);

	memset(text, 'x', sizeof(text));
	send(fd, text, sizeof(text), MSG_NOSIGNAL);
	assert_false(hear(fd, line, sizeof(line)));
	close(fd);
	is_well(f);
}

/* Thousands of requests at once, none of whose answers is read: others do not wait for it. */
static void test_flood(void **state)
{
	struct fixture *f = *state;
	int fd = dial(f), sent = 0;

	while (sent < 200000 && send(fd, "{\"op\":\"x\"}\n", 11, MSG_DONTWAIT | MSG_NOSIGNAL) == 11)
		sent++;
	assert_true(sent > 100);
	is_well(f);
	/* Each request that was taken is answered, in order. */
	for (int i = 0; i < 100; i++)
		answers(fd, "\"ok\":true");
	close(fd);
	is_well(f);
}

static void test_large_answer_unread(void **state)
{
	struct fixture *f = *state;
	int fds[4];

	for (int i = 0; i < 4; i++) {
		fds[i] = dial(f);
		say(fds[i], "{\"op\":\"big\"}\n{\"op\":\"big\"}\n", 26);
	}
	is_well(f);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	is_well(f);
}

static void test_half_open(void **state)
{
	struct fixture *f = *state;
	struct linger hard = { .l_onoff = 1 };
	int fd;

	/* gone in the middle of a request, and of an answer */
	fd = dial(f);
	say(fd, "{\"op\":", 6);
	close(fd);
	fd = dial(f);
	say(fd, "{\"op\":\"big\"}\n", 13);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd);
	/* nothing more to say, but all ears */
	fd = dial(f);
	say(fd, "{\"op\":\"x\"}\n", 11);
	answers(fd, "\"ok\":true");
	shutdown(fd, SHUT_WR);
	is_well(f);
	close(fd);
}

/* A request in single bytes is a request. */
static void test_slow(void **state)
{
	struct fixture *f = *state;
	const char *text = "{\"op\":\"x\"}\n";
	int fd = dial(f);

	for (const char *p = text; *p; p++) {
		say(fd, p, 1);
		is_well(f);
	}
	answers(fd, "\"ok\":true");
	close(fd);
}

/*
 * One user who opens all connections there are does not keep root out. As root, since nobody else
 * can be two users.
 */
static void test_one_user_cannot_lock_out_root(void **state)
{
	struct fixture *f = *state;
	int status, fds[64];
	pid_t pid;

	if (geteuid())
		skip();
	pid = fork();
	if (!pid) {
		int alive = 0;

		if (setuid(65534))
			_exit(100);
		for (int i = 0; i < 64; i++)
			fds[i] = dial(f);
		/* Ask on each: those without a place were closed. */
		for (int i = 0; i < 64; i++) {
			char line[256];

			if (fds[i] < 0 || send(fds[i], "{\"op\":\"x\"}\n", 11, MSG_NOSIGNAL) != 11 ||
			    !hear(fds[i], line, sizeof(line)))
				continue;
			alive++;
			if (!strstr(line, "\"root\":false"))
				_exit(101);
		}
		kill(getpid(), SIGSTOP);
		_exit(alive);
	}
	waitpid(pid, &status, WUNTRACED);
	assert_true(WIFSTOPPED(status));
	is_well(f);
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	assert_in_range(WEXITSTATUS(status), 1, 8);
}

static void test_who_is_root(void **state)
{
	struct fixture *f = *state;
	int fd = dial(f);

	say(fd, "{\"op\":\"x\"}\n", 11);
	answers(fd, geteuid() ? "\"root\":false" : "\"root\":true");
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_garbage),
		TEST(test_deep_nesting),
		TEST(test_endless_line),
		TEST(test_flood),
		TEST(test_large_answer_unread),
		TEST(test_half_open),
		TEST(test_slow),
		TEST(test_one_user_cannot_lock_out_root),
		TEST(test_who_is_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
