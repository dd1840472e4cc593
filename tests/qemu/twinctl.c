// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Run in a guest of the twin, as root: injects faults into PTDMA functions, shows their counters,
 * and ends the guest with an exit status. The registers are those that tests/qemu/ptdma.c adds at
 * 0x7000 of BAR 2, reached through sysfs, so that the driver may stay bound.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXIT_PORT	0x501
#define REGS_SIZE	0x8000
#define TEST_BASE	0x7000
#define TEST_MAGIC	0x54465450
#define PCI_DEVICES	"/sys/bus/pci/devices"

static const struct {
	const char *name;
	unsigned int offset;
	int writable;
} regs[] = {
	{ "error-ppm", 0x04, 1 },
	{ "error-at", 0x08, 1 },
	{ "error-code", 0x0c, 1 },
	{ "error-partial", 0x10, 1 },
	{ "hang-at", 0x14, 1 },
	{ "jitter-ns", 0x18, 1 },
	{ "late-ns", 0x1c, 1 },
	{ "spurious-every", 0x20, 1 },
	{ "duplicate-every", 0x24, 1 },
	{ "seed", 0x28, 1 },
	{ "descriptors", 0x40, 0 },
	{ "errors", 0x44, 0 },
	{ "hangs", 0x48, 0 },
	{ "interrupts", 0x4c, 0 },
	{ "phase", 0x58, 0 },
};

#define N_REGS (sizeof(regs) / sizeof(regs[0]))

static int usage(void)
{
	fprintf(stderr,
		"usage: twinctl ptdma [BDF|all] [NAME=N]... show or set injection of PTDMA functions\n"
		"       twinctl exit N                   end the guest with status N (0 to 125)\n");
	return 2;
}

static int fail(const char *what)
{
	fprintf(stderr, "twinctl: %s: %s\n", what, strerror(errno));
	return 1;
}

static int port_write(off_t port, unsigned char value)
{
	int fd = open("/dev/port", O_WRONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -1;
	ret = pwrite(fd, &value, 1, port) == 1 ? 0 : -1;
	close(fd);
	return ret;
}

static int exit_main(const char *text)
{
	char *end;
	unsigned long status = strtoul(text, &end, 10);

	if (!*text || *end || status > 125)
		return usage();
	fflush(NULL);
	sync();
	if (!ioperm(EXIT_PORT, 1, 1))
		outb(status + 1, EXIT_PORT);
	else if (port_write(EXIT_PORT, status + 1))
		return fail("access to ports (CONFIG_DEVPORT or CONFIG_X86_IOPL_IOPERM, root)");
	/* QEMU ends soon, not at once. */
	for (;;)
		pause();
}

static int reg_find(const char *name, size_t len)
{
	for (size_t i = 0; i < N_REGS; i++)
		if (strlen(regs[i].name) == len && !memcmp(regs[i].name, name, len))
			return i;
	return -1;
}

static int function_set(volatile uint32_t *test, const char *arg)
{
	const char *eq = strchr(arg, '=');
	char *end;
	unsigned long val;
	int i;

	if (!eq)
		return usage();
	i = reg_find(arg, eq - arg);
	val = strtoul(eq + 1, &end, 0);
	if (i < 0 || !regs[i].writable || !eq[1] || *end || val > UINT32_MAX) {
		fprintf(stderr, "twinctl: %s: no such setting, or not a 32-bit number\n", arg);
		return 2;
	}
	test[regs[i].offset / 4] = val;
	return 0;
}

static void function_show(volatile uint32_t *test, const char *bdf)
{
	uint32_t low = test[0x50 / 4];
	uint64_t bytes = (uint64_t)test[0x54 / 4] << 32 | low;

	printf("%s", bdf);
	for (size_t i = 0; i < N_REGS; i++)
		printf(" %s=%u", regs[i].name, test[regs[i].offset / 4]);
	printf(" bytes=%llu\n", (unsigned long long)bytes);
}

static int function_main(const char *bdf, int argc, char **argv)
{
	volatile uint32_t *map, *test;
	char path[300];
	int fd, ret = 0;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/resource2", bdf);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail(path);
	map = mmap(NULL, REGS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return fail(path);
	test = map + TEST_BASE / 4;
	if (test[0] != TEST_MAGIC) {
		fprintf(stderr, "twinctl: %s is no PTDMA of the twin, or its driver never enabled it\n",
			bdf);
		ret = 1;
	} else if (!argc) {
		function_show(test, bdf);
	}
	for (int i = 0; i < argc && !ret; i++)
		ret = function_set(test, argv[i]);
	munmap((void *)map, REGS_SIZE);
	return ret;
}

static int attribute_is(const char *bdf, const char *name, const char *want)
{
	char path[300], got[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s/%s", bdf, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(got, sizeof(got), f))
		got[0] = 0;
	fclose(f);
	got[strcspn(got, "\n")] = 0;
	return !strcmp(got, want);
}

static int is_ptdma(const struct dirent *entry)
{
	return attribute_is(entry->d_name, "vendor", "0x1022") &&
	       attribute_is(entry->d_name, "device", "0x1498");
}

static int ptdma_main(const char *which, int argc, char **argv)
{
	struct dirent **list;
	int n, ret = 0;

	if (strcmp(which, "all"))
		return function_main(which, argc, argv);
	n = scandir(PCI_DEVICES, &list, is_ptdma, alphasort);
	if (n < 0)
		return fail(PCI_DEVICES);
	if (!n) {
		fprintf(stderr, "twinctl: no PTDMA function\n");
		return 1;
	}
	for (int i = 0; i < n; i++) {
		if (!ret)
			ret = function_main(list[i]->d_name, argc, argv);
		free(list[i]);
	}
	free(list);
	return ret;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "exit"))
		return exit_main(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "ptdma"))
		return ptdma_main("all", 0, NULL);
	if (argc >= 3 && !strcmp(argv[1], "ptdma"))
		return ptdma_main(argv[2], argc - 3, argv + 3);
	return usage();
}
