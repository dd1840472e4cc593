// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

bool write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);

	if (fd >= 0)
		close(fd);
	return ok;
}
