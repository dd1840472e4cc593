// SPDX-License-Identifier: GPL-2.0-or-later
/* "I set a limit and nothing happens": each cause is named, with what to do about it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "explain.h"
#include "util.h"

#define NOW (1000 * NSEC_PER_SEC)
#define US NSEC_PER_USEC

/* All is well: a target, a policy that takes it, a decision bounded by it. */
struct fixture {
	struct config config;
	struct resolved target;
	struct resolved own;
	struct asked asked;
	struct slowloop loop;
	struct mb_decision decision;
	struct explain_facts facts;
	char text[4096];	/* findings, one a line: kind code text */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->config = (struct config){ .mode = MODE_CONTROL, .policy = "policy_target",
				     .user_targets = true };
	f->target = (struct resolved){
		.source = SOURCE_FILE,
		.target = { .ns = 300 * US, .pct_milli = 99000 },
		.origin = "x.conf:3",
		.owner = "/a",
	};
	f->own = f->target;
	f->loop.scale = SCALE_NONE;
	f->decision = (struct mb_decision){
		.when_ns = NOW - NSEC_PER_SEC,
		.target_ns = 300 * US,
		.predicted_ns = 250 * US,
		.batch_pages = 256,
		.nr_channels = 4,
		.limit = MB_LIMIT_TARGET,
	};
	f->facts = (struct explain_facts){
		.path = "/a",
		.now_ns = NOW,
		.mode = MODE_CONTROL,
		.policy = EXPLAIN_POLICY_ATTACHED,
		.policy_name = "policy_target",
		.policy_takes_targets = true,
		.kernel_max_pages = 262144,
		.config = &f->config,
		.target = &f->target,
		.own = &f->own,
		.written = true,
		.asked = &f->asked,
		.batches = 10,
		.decision = &f->decision,
		.loop = &f->loop,
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void found(void *data, enum explain_kind kind, const char *code, const char *text)
{
	struct fixture *f = data;
	size_t len = strlen(f->text);

	snprintf(f->text + len, sizeof(f->text) - len, "%s %s %s\n", explain_kind_name(kind),
		 code, text);
}

static void run(struct fixture *f)
{
	f->text[0] = 0;
	explain(&f->facts, found, f);
}

/* The first finding is this one, and its text says both words. */
static void first_says(struct fixture *f, const char *head, const char *a, const char *b)
{
	char line[sizeof(f->text)];

	run(f);
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(f->text, "\n"), f->text);
	if (strncmp(line, head, strlen(head)) || !strstr(line, a) || !strstr(line, b))
		fail_msg("first is not '%s' with '%s' and '%s' but: %s", head, a, b, f->text);
}

static void first_is(struct fixture *f, const char *head, const char *word)
{
	first_says(f, head, word, "");
}

static void has(struct fixture *f, const char *what, bool want)
{
	run(f);
	if (!strstr(f->text, what) == want)
		fail_msg("%s '%s': %s", want ? "no" : "there is", what, f->text);
}

static void test_all_well(void **state)
{
	struct fixture *f = *state;

	first_says(f, "limit target", "256 pages", "250us");
	first_is(f, "limit target", "300us");
	has(f, "obstacle", false);
	has(f, "note", false);
}

static void test_modes(void **state)
{
	struct fixture *f = *state;

	f->facts.policy = EXPLAIN_POLICY_OFF;
	f->facts.policy_takes_targets = false;
	f->facts.decision = NULL;
	f->facts.mode = MODE_OBSERVE;
	first_says(f, "obstacle mode", "observe", "Mode=control");
	first_is(f, "obstacle mode", "reload");
	f->facts.mode = MODE_ADVISE;
	first_says(f, "obstacle mode", "advise", "Mode=control");
	/* one cause, one obstacle: that no policy is there follows from it */
	has(f, "policy-off", false);
	f->facts.mode = MODE_CONTROL;
	first_is(f, "obstacle policy-off", "reload");
}

static void test_policies(void **state)
{
	static const struct {
		enum explain_policy policy;
		const char *head;
		const char *says;
	} cases[] = {
		{ EXPLAIN_POLICY_FOREIGN, "obstacle policy-foreign", "'other'" },
		{ EXPLAIN_POLICY_STOPPED, "obstacle policy-stopped", "switch policy_target" },
		{ EXPLAIN_POLICY_REMOVED, "obstacle policy-removed", "reload" },
		{ EXPLAIN_POLICY_EJECTED, "obstacle policy-ejected", "too many bad values" },
		{ EXPLAIN_POLICY_FAILED, "obstacle policy-failed", "too many bad values" },
	};
	struct fixture *f = *state;

	f->facts.policy_name = "other";
	f->facts.policy_why = "too many bad values";
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		f->facts.policy = cases[i].policy;
		first_is(f, cases[i].head, cases[i].says);
	}
	f->facts.policy = EXPLAIN_POLICY_ATTACHED;
	f->facts.policy_takes_targets = false;
	first_says(f, "obstacle policy-without-targets", "'other'", "policy_target");
	f->facts.policy_takes_targets = true;
	f->facts.written = false;
	f->facts.map_full = true;
	first_is(f, "obstacle not-written", "full");
}

static void test_kernel_and_mounts(void **state)
{
	struct fixture *f = *state;

	f->facts.layout_advice = "hybrid cgroups";
	first_is(f, "obstacle cgroups", "hybrid cgroups");
	f->facts.kernel_advice = "boot the patched kernel";
	f->facts.policy = EXPLAIN_POLICY_OFF;
	first_is(f, "obstacle kernel", "boot the patched kernel");
	has(f, "policy-off", false);
}

static void test_no_target(void **state)
{
	struct fixture *f = *state;

	f->facts.own = NULL;
	f->target = (struct resolved){ .source = SOURCE_NONE };
	first_says(f, "obstacle no-target", "target set /a", "[Target /a]");
	f->target = (struct resolved){ .source = SOURCE_CLI, .owner = "/a" };
	first_says(f, "obstacle no-target", "'none'", "cli");
}

static void test_no_samples(void **state)
{
	struct fixture *f = *state;

	f->facts.decision = NULL;
	f->facts.batches = 0;
	first_says(f, "note no-samples", "no page of it has migrated", "NUMA balancing");
	f->facts.batches = 5;
	first_is(f, "note no-samples", "since the policy was attached");
}

static void test_limits(void **state)
{
	struct fixture *f = *state;

	f->decision.limit = MB_LIMIT_ONE_FOLIO;
	f->decision.batch_pages = 512;
	f->decision.predicted_ns = 900 * US;
	first_says(f, "limit one-folio", "512 pages", "900us");
	first_is(f, "limit one-folio", "300us");

	f->decision.limit = MB_LIMIT_MAX_PAGES;
	f->config.max_pages = 512;
	f->config.max_pages_origin = "x.conf:9";
	first_says(f, "limit max-pages", "MaxPages=512", "x.conf:9");
	f->config.max_pages = 0;
	first_is(f, "limit kernel-max-pages", "max_pages is 262144");
	f->decision.nr_channels = 0;
	first_is(f, "limit cpu-pages", "512");

	f->decision.limit = MB_LIMIT_NONE;
	first_is(f, "limit all-fits", "");
	f->decision.limit = MB_LIMIT_UNKNOWN;
	first_is(f, "limit learning", "");
	f->decision.limit = 99;
	first_is(f, "limit other", "99");
}

static void test_notes_on_the_decision(void **state)
{
	struct fixture *f = *state;

	f->decision.when_ns = NOW - 100 * NSEC_PER_SEC;
	has(f, "note stale its last batch was 100 s ago", true);
	f->decision.trial = 1;
	has(f, "note trial", true);
	f->config.max_channels = 4;
	f->config.max_channels_origin = "x.conf:8";
	has(f, "MaxChannels=4 (x.conf:8)", true);
}

static void test_ancestor_and_attributes(void **state)
{
	struct fixture *f = *state;

	snprintf(f->target.owner, sizeof(f->target.owner), "/");
	f->own.target.ns = 5000 * US;
	has(f, "note bounded-by-ancestor its own target 5ms (from x.conf:3)", true);
	has(f, "/ above it has 300us", true);

	f->own = f->target;
	f->own.source = SOURCE_USER;
	f->own.asked_ns = 1 * US;
	f->own.bound = "UserTargetMin=";
	has(f, "asks for 1us, which UserTargetMin= (its default) changes to 300us", true);

	f->asked.has_user = true;
	has(f, "user-overruled", false);
	f->own.source = SOURCE_FILE;
	has(f, "note user-overruled", true);
	f->config.user_targets = false;
	has(f, "note user-off", true);
	f->facts.refused_trusted = true;
	has(f, "note xattr-refused attribute trusted.", true);
}

static void test_slow_loop(void **state)
{
	struct fixture *f = *state;

	f->loop.scale = 250;
	has(f, "note corrected too many misses: the policy aims at 25.0 %", true);
	f->loop.until_ns = NOW + 60 * NSEC_PER_SEC;
	has(f, "note out-of-reach", true);
	has(f, "for 60 s", true);
	f->facts.missing = true;
	has(f, "note missing", true);
	f->target.target.signal = MB_SIGNAL_WAIT;
	has(f, "note signal-wait", true);
	f->facts.observer_why = "no BTF";
	has(f, "note observer nothing is measured: no BTF", true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all_well),
		TEST(test_modes),
		TEST(test_policies),
		TEST(test_kernel_and_mounts),
		TEST(test_no_target),
		TEST(test_no_samples),
		TEST(test_limits),
		TEST(test_notes_on_the_decision),
		TEST(test_ancestor_and_attributes),
		TEST(test_slow_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
