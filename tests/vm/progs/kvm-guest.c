// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A virtual machine whose memory moves between the nodes while its processor writes to it: KVM
 * watches the mappings with MMU notifiers and keeps page tables of its own, which must not outlive
 * a page that was moved. Its processor adds one to a word of each page, page after page, as long as
 * it may; every word must end as the number of rounds.
 *
 * usage: kvm-guest [--moves N]
 * Exit status: 0, 1 when a word is wrong or pages did not move, 77 without KVM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE		4096UL
#define MPOL_MF_MOVE	(1 << 1)

/* Of the machine: its program at 1M, the word that stops it in the page before, data from 2M on. */
#define CODE_ADDR	0x100000UL
#define STOP_ADDR	0xff000UL
#define DATA_ADDR	0x200000UL
#define DATA_PAGES	2048UL
#define MEMORY_BYTES	(DATA_ADDR + DATA_PAGES * PAGE)
#define EXIT_PORT	0x10

/* 32-bit code, flat segments, no paging. Leaves the number of rounds in eax. */
__asm__(".pushsection .rodata\n"
	".code32\n"
	"program:\n"
	"	xorl %esi, %esi\n"
	"1:	movl $0x200000, %ebx\n"
	"	movl $2048, %ecx\n"
	"2:	incl (%ebx)\n"
	"	addl $4096, %ebx\n"
	"	decl %ecx\n"
	"	jnz 2b\n"
	"	incl %esi\n"
	"	cmpl $0, 0xff000\n"
	"	je 1b\n"
	"	movl %esi, %eax\n"
	"	outl %eax, $0x10\n"
	"	hlt\n"
	"program_bytes:\n"
	"	.long . - program\n"
	".code64\n"
	".popsection\n");
extern const unsigned char program[];
extern const uint32_t program_bytes;

static unsigned char *memory;
static struct kvm_run *run;
static int vcpu;

static void die(const char *what)
{
	fprintf(stderr, "kvm-guest: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void flat_segment(struct kvm_segment *seg, unsigned int type)
{
	*seg = (struct kvm_segment){ .base = 0, .limit = 0xffffffff, .selector = 8, .type = type,
				     .present = 1, .db = 1, .s = 1, .g = 1 };
}

static void machine_start(void)
{
	struct kvm_userspace_memory_region region = { .memory_size = MEMORY_BYTES };
	struct kvm_regs regs = { .rip = CODE_ADDR, .rflags = 2 };
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm, size;
	struct kvm_sregs sregs;

	if (kvm < 0) {
		printf("no /dev/kvm: %s\n", strerror(errno));
		exit(77);
	}
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		die("KVM_CREATE_VM");
	memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		die("memory");
	madvise(memory, MEMORY_BYTES, MADV_NOHUGEPAGE);
	memset(memory, 0, MEMORY_BYTES);
	memcpy(memory + CODE_ADDR, program, program_bytes);
	region.userspace_addr = (uintptr_t)memory;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region))
		die("KVM_SET_USER_MEMORY_REGION");
	vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (vcpu < 0 || size < 0)
		die("KVM_CREATE_VCPU");
	run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	if (run == MAP_FAILED || ioctl(vcpu, KVM_GET_SREGS, &sregs))
		die("vcpu");
	flat_segment(&sregs.cs, 11);
	flat_segment(&sregs.ds, 3);
	sregs.es = sregs.fs = sregs.gs = sregs.ss = sregs.ds;
	sregs.cr0 |= 1;
	if (ioctl(vcpu, KVM_SET_SREGS, &sregs) || ioctl(vcpu, KVM_SET_REGS, &regs))
		die("registers");
}

/* Runs until the program is through; returns its rounds. */
static void *machine_run(void *arg)
{
	uint32_t *rounds = arg;

	for (;;) {
		if (ioctl(vcpu, KVM_RUN, 0)) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			die("KVM_RUN");
		}
		if (run->exit_reason == KVM_EXIT_IO && run->io.port == EXIT_PORT) {
			memcpy(rounds, (char *)run + run->io.data_offset, sizeof(*rounds));
			return NULL;
		}
		if (run->exit_reason != KVM_EXIT_INTR) {
			fprintf(stderr, "kvm-guest: unexpected exit %u\n", run->exit_reason);
			exit(1);
		}
	}
}

/* Returns how many pages came to @node. */
static unsigned long move(int node)
{
	static void *pages[DATA_PAGES];
	static int nodes[DATA_PAGES], status[DATA_PAGES];
	unsigned long i, moved = 0;

	for (i = 0; i < DATA_PAGES; i++) {
		pages[i] = memory + DATA_ADDR + i * PAGE;
		nodes[i] = node;
		status[i] = -1;
	}
	if (syscall(SYS_move_pages, 0, DATA_PAGES, pages, nodes, status, MPOL_MF_MOVE) < 0)
		die("move_pages");
	/* Only the status of the last chunk is sure to be told: ask. */
	syscall(SYS_move_pages, 0, DATA_PAGES, pages, NULL, status, 0);
	for (i = 0; i < DATA_PAGES; i++)
		moved += status[i] == node;
	return moved;
}

int main(int argc, char **argv)
{
	unsigned long moves = 20, i, moved = 0, wrong = 0;
	uint32_t rounds = 0;
	pthread_t thread;

	if (argc == 3 && !strcmp(argv[1], "--moves"))
		moves = strtoul(argv[2], NULL, 0);
	machine_start();
	if (pthread_create(&thread, NULL, machine_run, &rounds))
		die("thread");
	for (i = 0; i < moves; i++)
		moved += move((i + 1) % 2);
	*(volatile uint32_t *)(memory + STOP_ADDR) = 1;
	pthread_join(thread, NULL);

	for (i = 0; i < DATA_PAGES; i++) {
		uint32_t word = *(volatile uint32_t *)(memory + DATA_ADDR + i * PAGE);

		if (word == rounds)
			continue;
		if (!wrong++)
			printf("page %lu: %u in place of %u\n", i, word, rounds);
	}
	printf("kvm-guest: rounds=%u moves=%lu moved=%lu wrong=%lu\n", rounds, moves, moved, wrong);
	return wrong || !rounds || moved < moves * DATA_PAGES * 9 / 10;
}
