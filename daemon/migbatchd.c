// SPDX-License-Identifier: GPL-2.0-or-later
/* The daemon's entry: options and nothing more. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "manager.h"
#include "util.h"
#include "version.h"

/* Exit statuses as systemd knows them (systemd.exec(5)), so that systemctl shows the cause. */
#define EXIT_USAGE 2
#define EXIT_CONFIG 78

static const char usage[] =
	"usage: migbatchd [--config-root DIR] [--cgroup-root DIR] [--check-config] [--debug]\n"
	"\n"
	"  --config-root DIR   read the configuration below DIR instead of /\n"
	"  --cgroup-root DIR   where cgroup2 is mounted, when it is not found by itself\n"
	"  --check-config      read the configuration, say what is wrong with it, and exit\n"
	"  --debug             log more, also what libbpf has to say\n"
	"  --version\n";

static bool debug;

/* A load that fails is told by what libbpf says about it, above all by the verifier's log. */
static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	_cleanup_free_ char *text = NULL;

	if (level == LIBBPF_DEBUG || (level == LIBBPF_INFO && !debug))
		return 0;
	if (vasprintf(&text, fmt, ap) < 0)
		return 0;
	log_line(LOG_NOTICE, "%s", text);
	return 0;
}

static void print_finding(void *data, bool error, const char *message)
{
	(void)data;
	fprintf(stderr, "%s: %s\n", error ? "error" : "warning", message);
}

static int check_config(const char *root)
{
	struct config config = { 0 };
	int err = config_load(&config, root, print_finding, NULL);

	config_free(&config);
	return err ? EXIT_CONFIG : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config-root", required_argument, NULL, 'r' },
		{ "cgroup-root", required_argument, NULL, 'c' },
		{ "check-config", no_argument, NULL, 'k' },
		{ "debug", no_argument, NULL, 'd' },
		{ "version", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	struct manager m = {
		.config_root = "",
		.policy = POLICY_INIT,
		.cgroups.inotify_fd = -1,
		.lock_fd = -1,
	};
	bool check = false;
	int opt, err;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (opt) {
		case 'r':
			m.config_root = optarg;
			break;
		case 'c':
			m.cgroup_root = optarg;
			break;
		case 'k':
			check = true;
			break;
		case 'd':
			debug = true;
			break;
		case 'v':
			puts("migbatchd " MIGBATCH_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			fputs(usage, stdout);
			return EXIT_SUCCESS;
		default:
			fputs(usage, stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (check)
		return check_config(m.config_root);

	log_open(debug);
	libbpf_set_print(print_libbpf);
	err = manager_start(&m);
	if (!err)
		err = manager_run(&m);
	manager_stop(&m);
	if (err == -EINVAL && !m.event)
		return EXIT_CONFIG;
	return err < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
