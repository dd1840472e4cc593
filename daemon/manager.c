// SPDX-License-Identifier: GPL-2.0-or-later
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include "bpfobj.h"
#include "log.h"
#include "manager.h"
#include "stats.h"
#include "util.h"

/* inotify events come in swarms when a service starts; one scan serves them all. */
#define SCAN_DELAY_NS (20 * NSEC_PER_MSEC)
/* In a huge or busy tree scanning must not become our main occupation. */
#define SCAN_SHARE 10
/* What inotify did not tell (no watches left) is found so late at most. */
#define SCAN_EVERY_NS (10 * NSEC_PER_SEC)

static void report(void *data, bool error, const char *message)
{
	struct manager *m = data;

	log_event(error ? LOG_ERR : LOG_WARNING, "config", NULL, NULL, "%s", message);
	if (error && !m->config_error)
		m->config_error = strdup(message);
}

/* Status, for systemctl status: only when it changed. */
void manager_notify(struct manager *m)
{
	char status[sizeof(m->status)];
	unsigned int targets = 0;

	for (size_t i = 0; i < m->cgroups.nr; i++)
		targets += m->cgroups.list[i].has_target;
	snprintf(status, sizeof(status), "%s; policy %s%s%s; %u cgroups with a target%s%s",
		 mode_name(m->config.mode), policy_state_name(m->policy.state),
		 m->policy.kernel_name[0] ? ": " : "", m->policy.kernel_name, targets,
		 m->features.batch ? "" : "; UNPATCHED KERNEL, observing only",
		 m->config_error ? "; last reload refused, old configuration kept" : "");
	if (!strcmp(status, m->status))
		return;
	memcpy(m->status, status, sizeof(status));
	sd_notifyf(0, "STATUS=%s", status);
}

int manager_state_save(struct manager *m, char *why)
{
	int err = state_save(&m->state, STATE_FILE);

	if (err)
		snprintf(why, BPFOBJ_WHY_MAX, "in force, but not kept over a restart: "
			 STATE_FILE ": %s", strerror(-err));
	return err;
}

const char *manager_policy_wanted(const struct manager *m)
{
	if (m->config.mode != MODE_CONTROL || !m->features.policies)
		return NULL;
	if (!m->state.policy)
		return m->config.policy;
	return *m->state.policy ? m->state.policy : NULL;
}

/* Brings the kernel to what is wanted. Does nothing when it is there already. */
int manager_policy_apply(struct manager *m)
{
	const char *wanted = manager_policy_wanted(m);
	int err;

	if (!wanted) {
		if (m->policy.state != POLICY_OFF)
			policy_detach(&m->policy);
		return 0;
	}
	if (m->policy.state == POLICY_ATTACHED && !strcmp(m->policy.name, wanted))
		return 0;
	err = policy_attach(&m->policy, m->config.policy_dir, wanted);
	if (!err) {
		targets_rewrite(m);
		targets_round(m);
	}
	return err;
}

static void scan_now(struct manager *m)
{
	uint64_t start = now_ns();
	int err;

	cgroups_drain(&m->cgroups);
	err = cgroups_scan(&m->cgroups, targets_gone, m);
	if (err)
		log_line(LOG_ERR, "the cgroup tree cannot be read: %s", strerror(-err));
	else
		targets_resolve(m);
	m->scanned_ns = now_ns();
	m->scan_cost_ns = m->scanned_ns - start;
}

static int on_scan(sd_event_source *source, uint64_t usec, void *data)
{
	struct manager *m = data;

	(void)source;
	(void)usec;
	scan_now(m);
	manager_notify(m);
	return 0;
}

static void scan_soon(struct manager *m)
{
	uint64_t due = max_u64(now_ns() + SCAN_DELAY_NS,
			       m->scanned_ns + SCAN_SHARE * m->scan_cost_ns);
	int enabled = SD_EVENT_OFF;

	sd_event_source_get_enabled(m->scan, &enabled);
	if (enabled != SD_EVENT_OFF)
		return;
	sd_event_source_set_time(m->scan, due / NSEC_PER_USEC);
	sd_event_source_set_enabled(m->scan, SD_EVENT_ONESHOT);
}

static int on_inotify(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct manager *m = data;

	(void)source;
	(void)fd;
	(void)events;
	if (cgroups_drain(&m->cgroups))
		scan_soon(m);
	return 0;
}

/* The control loop. The watchdog is fed here and nowhere else, so that it guards this loop. */
static int on_round(sd_event_source *source, uint64_t usec, void *data)
{
	struct manager *m = data;

	(void)usec;
	if (now_ns() - m->scanned_ns > SCAN_EVERY_NS)
		scan_now(m);
	/* A foreign policy that went away leaves the place to ours. */
	if (policy_check(&m->policy) && m->policy.state == POLICY_OFF)
		manager_policy_apply(m);
	targets_round(m);
	manager_advise(m);
	manager_sweep(m);
	manager_notify(m);
	sd_notify(0, "WATCHDOG=1");
	sd_event_source_set_time_relative(source, m->config.interval_ns / NSEC_PER_USEC);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void say_features(struct manager *m)
{
	const char *advice = kernel_features_advice(&m->features);

	if (advice)
		log_event(LOG_WARNING, "kernel", NULL, NULL, "OBSERVING ONLY: %s", advice);
}

static void reload(struct manager *m)
{
	struct config old = m->config;

	free(m->config_error);
	m->config_error = NULL;
	m->config = (struct config){ 0 };
	if (config_load(&m->config, m->config_root, report, m)) {
		m->config = old;
		log_event(LOG_ERR, "reload-refused", NULL, NULL,
			  "the new configuration is refused, the old one stays in force as a whole");
		return;
	}
	config_free(&old);
	targets_resolve(m);
	/* Somebody who reloads after the kernel let a policy go wants another try. */
	if (m->policy.state != POLICY_ATTACHED)
		policy_detach(&m->policy);
	manager_policy_apply(m);
	targets_round(m);
	log_event(LOG_INFO, "reloaded", NULL, NULL, "configuration read again, mode %s",
		  mode_name(m->config.mode));
}

static int on_hup(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct manager *m = data;

	(void)source;
	(void)info;
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
		   (unsigned long long)(now_ns() / NSEC_PER_USEC));
	reload(m);
	manager_notify(m);
	sd_notify(0, "READY=1");
	return 0;
}

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct manager *m = data;

	(void)source;
	(void)info;
	sd_notify(0, "STOPPING=1");
	return sd_event_exit(m->event, 0);
}

static int watch_events(struct manager *m)
{
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	err = sd_event_add_signal(m->event, NULL, SIGHUP, on_hup, m);
	if (err >= 0)
		err = sd_event_add_signal(m->event, NULL, SIGTERM, on_stop, m);
	if (err >= 0)
		err = sd_event_add_signal(m->event, NULL, SIGINT, on_stop, m);
	if (err >= 0)
		err = sd_event_add_io(m->event, NULL, m->cgroups.inotify_fd, EPOLLIN, on_inotify,
				      m);
	if (err >= 0)
		err = sd_event_add_time(m->event, &m->scan, CLOCK_MONOTONIC, 0, 1000, on_scan, m);
	if (err >= 0)
		err = sd_event_source_set_enabled(m->scan, SD_EVENT_OFF);
	if (err >= 0)
		err = sd_event_add_time_relative(m->event, &m->round, CLOCK_MONOTONIC, 0, 1000,
						 on_round, m);
	return err;
}

/* Two daemons would take the policy and the socket from each other. */
static int take_lock(struct manager *m)
{
	if ((mkdir(RUN_PARENT, 0755) < 0 && errno != EEXIST) ||
	    (mkdir(RUN_DIR, 0755) < 0 && errno != EEXIST))
		return -errno;
	m->lock_fd = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (m->lock_fd < 0)
		return -errno;
	return flock(m->lock_fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

/*
 * After the socket was given to its group, loading and attaching BPF programs is all that is done
 * with privilege: CAP_BPF for maps, programs and links, CAP_PERFMON for programs of the kinds
 * tracing and struct_ops, which see kernel memory. What else is touched belongs to root.
 */
static int drop_capabilities(void)
{
	capng_clear(CAPNG_SELECT_CAPS);
	if (capng_updatev(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_BPF, CAP_PERFMON, -1))
		return -EINVAL;
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

static int open_cgroups(struct manager *m)
{
	_cleanup_free_ char *found = NULL;
	const char *root = m->cgroup_root ? m->cgroup_root : m->config.cgroup_root;
	int err;

	if (!root)
		root = found = cgroup_root_find();
	if (!root) {
		log_line(LOG_ERR, "no cgroup2 file system is mounted; boot with "
			 "systemd.unified_cgroup_hierarchy=1, or mount one and name it in "
			 "ControlGroupRoot=");
		return -ENODEV;
	}
	err = cgroups_open(&m->cgroups, root);
	if (err == -EMEDIUMTYPE)
		log_line(LOG_ERR, "%s is not a cgroup2 file system (cgroup v1 has no targets)",
			 root);
	else if (err)
		log_line(LOG_ERR, "%s: %s", root, strerror(-err));
	return err;
}

static int fail(int err, const char *what)
{
	log_line(LOG_ERR, "%s: %s", what, strerror(-err));
	return err;
}

int manager_start(struct manager *m)
{
	int err;

	err = config_load(&m->config, m->config_root, report, m);
	if (err) {
		log_line(LOG_ERR, "the configuration is refused, not started");
		return err;
	}
	err = take_lock(m);
	if (err == -EWOULDBLOCK) {
		log_line(LOG_ERR, "another migbatchd is running (" LOCK_FILE " is locked)");
		return err;
	}
	if (err)
		return fail(err, LOCK_FILE);
	err = state_load(&m->state, STATE_FILE, report, m);
	if (err)
		return fail(err, STATE_FILE);
	err = open_cgroups(m);
	if (err)
		return err;
	err = sd_event_default(&m->event);
	if (err < 0)
		return fail(err, "event loop");
	err = watch_events(m);
	if (err < 0)
		return fail(err, "event loop");
	err = ipc_server_new(&m->ipc, m->event, IPC_SOCKET, manager_request, m);
	if (err < 0)
		return fail(err, IPC_SOCKET);
	err = drop_capabilities();
	if (err)
		return fail(err, "dropping capabilities");

	kernel_features_read(&m->features);
	say_features(m);
	if (!m->features.btf_error)
		observer_start(&m->observer, m->config.policy_dir, m->features.batch);
	kernel_btf_drop();
	scan_now(m);
	manager_policy_apply(m);
	policy_check(&m->policy);
	manager_notify(m);
	sd_notify(0, "READY=1");
	return 0;
}

int manager_run(struct manager *m)
{
	return sd_event_loop(m->event);
}

void manager_stop(struct manager *m)
{
	/* Not before all was ready: pins may be those of another daemon that lives. */
	if (m->ipc) {
		ipc_server_free(m->ipc);
		if (m->policy.state != POLICY_OFF)
			policy_detach(&m->policy);
		observer_stop(&m->observer);
		pin_maps_remove();
	}
	readings_free(&m->advised);
	manager_sweep_free(m);
	cgroups_close(&m->cgroups);
	sd_event_source_disable_unref(m->round);
	sd_event_source_disable_unref(m->scan);
	sd_event_unref(m->event);
	config_free(&m->config);
	state_free(&m->state);
	free(m->config_error);
	if (m->lock_fd >= 0)
		close(m->lock_fd);
}
