// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "util.h"

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

char *str_printf(const char *fmt, ...)
{
	va_list ap;
	char *text;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	return len < 0 ? NULL : text;
}

char *path_join(const char *root, const char *path)
{
	size_t len = strlen(root);

	while (len && root[len - 1] == '/')
		len--;
	while (*path == '/')
		path++;
	return str_printf("%.*s/%s", (int)len, root, path);
}

/* Files of sysfs and our own state are far smaller; a larger one is not what was meant. */
#define FILE_MAX (1 << 20)

int file_read(const char *path, char **text)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 4096, len = 0;
	_cleanup_free_ char *buf = NULL;
	ssize_t n;

	if (fd < 0)
		return -errno;

	for (;;) {
		char *larger = realloc(buf, size);

		if (!larger)
			return -ENOMEM;
		buf = larger;
		n = read(fd, buf + len, size - len - 1);
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += n;
		if (len + 1 == size)
			size *= 2;
		if (size > FILE_MAX)
			return -EFBIG;
	}

	if (len && buf[len - 1] == '\n')
		len--;
	buf[len] = 0;
	*text = buf;
	buf = NULL;
	return 0;
}

int file_read_u64(const char *path, uint64_t *value)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long v;
	char *end;
	int err;

	err = file_read(path, &text);
	if (err)
		return err;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		return -EINVAL;
	*value = v;
	return 0;
}

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		text += n;
		left -= n;
	}
	return 0;
}

int file_write_atomic(const char *path, const char *text)
{
	_cleanup_free_ char *tmp = str_printf("%s.new", path);
	_cleanup_close_ int fd = -1;
	int err;

	if (!tmp)
		return -ENOMEM;
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, text);
	if (!err && rename(tmp, path) < 0)
		err = -errno;
	if (err)
		unlink(tmp);
	return err;
}

int parse_u32(const char *text, uint32_t *value)
{
	unsigned long long v;
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end || v > UINT32_MAX)
		return -EINVAL;
	*value = v;
	return 0;
}

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "s", NSEC_PER_SEC },
	{ "ms", NSEC_PER_MSEC },
	{ "us", NSEC_PER_USEC },
	{ "ns", 1 },
};

int parse_time(const char *text, uint64_t *ns)
{
	uint64_t whole = 0, part = 0, scale = 1;
	const char *p = text;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		whole = whole * 10 + (*p - '0');
		if (whole > UINT64_MAX / NSEC_PER_SEC / 16)
			return -ERANGE;
	}
	if (*p == '.') {
		if (!isdigit((unsigned char)*++p))
			return -EINVAL;
		/* Nine places are as fine as a second can be divided; more say nothing. */
		for (; isdigit((unsigned char)*p); p++) {
			if (scale >= NSEC_PER_SEC)
				continue;
			part = part * 10 + (*p - '0');
			scale *= 10;
		}
	}
	while (*p == ' ')
		p++;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(p, units[i].name))
			continue;
		*ns = whole * units[i].ns + part * units[i].ns / scale;
		return 0;
	}
	return -EINVAL;
}

char *format_time(char *buf, uint64_t ns)
{
	size_t i = 0;

	while (ns % units[i].ns || ns < units[i].ns) {
		if (units[i].ns == 1)
			break;
		i++;
	}
	snprintf(buf, TIME_TEXT_MAX, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
	return buf;
}
