// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <unistd.h>

#include "twin.h"

#define TWIN_IOBASE	0x520
#define TWIN_MAGIC	0x4e495754
#define REG_MAGIC	0
#define REG_MODE	4
#define REG_INSNS	8
#define REG_REP_BYTES	12
#define REG_TURN	16

/* /dev/port moves single bytes, which the device takes as well; a kernel may have only one way. */
static int port_fd = -1;
static bool port_direct;

static bool port_open(void)
{
	if (port_direct || port_fd >= 0)
		return true;
	port_direct = !iopl(3);
	if (port_direct)
		return true;
	port_fd = open("/dev/port", O_RDWR | O_CLOEXEC);
	if (port_fd < 0)
		fprintf(stderr, "no access to ports (%s): the kernel needs CONFIG_X86_IOPL_IOPERM "
			"or CONFIG_DEVPORT, and the caller root\n", strerror(errno));
	return port_fd >= 0;
}

static uint32_t port_read(unsigned int reg)
{
	unsigned char b[4] = { };
	unsigned int i;

	if (port_direct)
		return inl(TWIN_IOBASE + reg);
	for (i = 0; i < sizeof(b); i++)
		if (pread(port_fd, &b[i], 1, TWIN_IOBASE + reg + i) != 1)
			return 0;
	return b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
}

static void port_write_byte(unsigned int reg, unsigned char value)
{
	if (port_direct)
		outb(value, TWIN_IOBASE + reg);
	else if (pwrite(port_fd, &value, 1, TWIN_IOBASE + reg) != 1)
		perror("/dev/port");
}

bool twin_read(struct twin *twin)
{
	if (!port_open())
		return false;
	if (port_read(REG_MAGIC) != TWIN_MAGIC) {
		fprintf(stderr, "no twin-clock device at port 0x%x\n", TWIN_IOBASE);
		return false;
	}
	twin->mode = port_read(REG_MODE);
	twin->insns_per_ns = port_read(REG_INSNS);
	twin->rep_bytes = port_read(REG_REP_BYTES);
	twin->turn_ns = port_read(REG_TURN);
	return true;
}

bool twin_set_mode(enum twin_mode mode)
{
	struct twin twin;

	if (!twin_read(&twin))
		return false;
	port_write_byte(REG_MODE, mode);
	return twin_read(&twin) && twin.mode == mode;
}
