# SPDX-License-Identifier: GPL-2.0-or-later
# migbatch: `make help` tells the targets. Products go to build/, what takes long to the cache
# (~/.cache/migbatch, or MIGBATCH_CACHE).

VERSION := 0.1.0
BUILD := $(abspath build)
PREFIX ?= /usr
DESTDIR ?=
CLANG ?= clang-19
export BUILD VERSION

# Sub-makes run their own jobs, and two guests at once would only slow each other.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

.PHONY: help setup all tools bpf daemon unit qemu guest kernels demo test check vm-test fault-test \
	test-debug bench install deb shellcheck cppcheck clean distclean

help: ## these lines
	@echo 'migbatch $(VERSION): make TARGET'
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1	\2/p' $(MAKEFILE_LIST) | expand -t 16
	@echo 'The kernel has targets of its own: make -C kernel help'

setup: ## install the Debian packages that are missing (asks once)
	@setup/install

demo: setup ## boot the twin, watch first-folio delay against target (first time about 25 min)
	@tests/run prepare patched
	@tests/vm/demo

test: setup ## check, vm-test and fault-test; the last line counts (first time about 40 min)
	@tests/run check vm fault

check: setup ## no VM: unit tests, BPF builds, patches, static checks (under 3 minutes)
	@tests/run check

vm-test: setup ## guest tests
	@tests/run vm

fault-test: setup ## fault injection
	@tests/run fault

test-debug: setup ## the guest tests on a KASAN + lockdep + DEBUG_VM kernel (not part of test)
	@tests/run debug

bench: setup ## tables, plots and build/bench/summary.json, vanilla beside patched
	@tests/run prepare vanilla patched
	@tests/bench/run

all: bpf daemon ## build the userland alone: BPF objects, migbatchd, migbatchctl

tools: ## bpftool and libbpf of the kernel's source (in the cache)
	@setup/tools '$(BUILD)'

# ---- BPF: no kernel need be built, types are moved to the running kernel's when loaded

BPF_OBJECTS := $(patsubst bpf/%.bpf.c,$(BUILD)/bpf/%.bpf.o,$(wildcard bpf/*.bpf.c))
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter \
	-Ibpf/lib -Iinclude -Ikernel/src/include -I$(BUILD)/tools/include -D__TARGET_ARCH_x86
BPF_DEPS := $(wildcard bpf/lib/*.h bpf/lib/*/*.h include/migbatch/*.h kernel/src/include/linux/*.h)

bpf: tools $(BPF_OBJECTS)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(BPF_DEPS) Makefile
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -c $< -o $@

# Two makes at once in one clone (a test's and yours) take turns.
LOCKED = mkdir -p $(BUILD) && flock $(BUILD)/.lock

daemon: tools
	@$(LOCKED) $(MAKE) -C daemon -j2 all

unit: tools $(BUILD)/tests/test_law
	@$(LOCKED) $(MAKE) -C daemon -j2 unit

# The control law is nothing but a header.
$(BUILD)/tests/test_law: tests/unit/test_law.c include/migbatch/law.h include/migbatch/abi.h
	@mkdir -p $(@D)
	$(CC) -O2 -g -std=gnu11 -Wall -Wextra -Werror -Iinclude $< -lcmocka -lm -o $@

qemu:
	@tests/qemu/build >/dev/null

kernels:
	@$(MAKE) -C kernel vanilla patched

guest: all
	@tests/vm/image disk patched >/dev/null

# ---- installation

install: all ## userland into DESTDIR and PREFIX (default /usr)
	install -d '$(DESTDIR)$(PREFIX)/lib/migbatch'
	install -m 644 $(BUILD)/bpf/*.bpf.o '$(DESTDIR)$(PREFIX)/lib/migbatch/'
	@$(LOCKED) $(MAKE) -C daemon install DESTDIR='$(abspath $(DESTDIR))' PREFIX='$(PREFIX)'

deb: setup all ## userland as build/deb/migbatch_VERSION_ARCH.deb
	@setup/make-deb '$(BUILD)' '$(VERSION)'

# ---- static checks

SHELL_SCRIPTS = $(shell git -c safe.directory='*' ls-files -co --exclude-standard | xargs grep -lE '^\#!/bin/(ba)?sh' \
	2>/dev/null)

# SC2054: an array of QEMU's arguments is full of commas that separate nothing.
shellcheck:
	shellcheck -x -S warning -e SC2054 $(SHELL_SCRIPTS)

# Formats are the compiler's to check, and macros of system headers are not read.
cppcheck:
	cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr \
		--enable=warning,performance,portability --suppress=missingIncludeSystem \
		--suppress=normalCheckLevelMaxBranches \
		--suppress=invalidPrintfArgType_uint --suppress=invalidPrintfArgType_sint \
		'-DLIBBPF_OPTS(T,N,...)=struct T N' -Iinclude -j 2 daemon include tests/unit \
		tests/vm/progs

# ---- cleaning

clean: ## remove build/; what is in the cache stays
	rm -rf '$(BUILD)'

distclean: clean ## drop the cache as well (the next build takes as long as the first)
	@. setup/lib.sh && dir=$$(cache_dir) && say "removing $$dir" && rm -rf "$$dir"
