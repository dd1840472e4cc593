/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MIGBATCH_TEST_FILE_H
#define MIGBATCH_TEST_FILE_H

#include <stdbool.h>

/* Writes all of @value with one write(2), as the kernel's files want it. False: see errno. */
bool write_file(const char *path, const char *value);

#endif
