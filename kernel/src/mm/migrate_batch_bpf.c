// SPDX-License-Identifier: GPL-2.0-only
/*
 * A BPF policy for the batches of page migration: struct_ops migrate_batch_ops.
 *
 * Plain knobs cannot do this job: the best batch depends on the engine, the folio size, the tiers
 * and on the target of the cgroup that owns the folios, which change from batch to batch.
 *
 * One policy at a time, attached by link only, so that it goes when its owner goes and can be
 * swapped without a gap. What it returns is checked and clamped in mm/migrate_batch.c. A policy
 * that goes on returning what cannot be meant is ejected: its link stays, without effect.
 *
 * Lock order: policy_mutex, then the static key's. Callers of select() and done() hold only RCU.
 */

#include <linux/bpf.h>
#include <linux/bpf_verifier.h>
#include <linux/btf.h>
#include <linux/init.h>
#include <linux/migrate_batch.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

/*
 * Batches in a row with an impossible value before the policy is ejected. One may be a race in a
 * map update of the policy; what lasts for a whole large move_pages() call is not.
 */
#define INVALID_BATCHES_MAX 32

/*
 * One attachment of a policy. @seq tells it from an earlier attachment of the same ops, and @link,
 * which is only ever compared, from another link to the same map.
 */
struct policy {
	struct migrate_batch_ops *ops;
	const struct bpf_link *link;
	u64 seq;
	atomic_t nr_invalid;
	const char *invalid_field;
	u32 invalid_value;
};

static DEFINE_MUTEX(policy_mutex);
static struct policy __rcu *policy;
static u64 last_seq;

static struct policy *policy_locked(void)
{
	return rcu_dereference_protected(policy, lockdep_is_held(&policy_mutex));
}

void migrate_batch_policy_select(struct migrate_batch *batch)
{
	struct policy *p;

	rcu_read_lock();
	p = rcu_dereference(policy);
	if (p) {
		batch->policy_seq = p->seq;
		if (p->ops->select)
			p->ops->select(&batch->ctx, &batch->res.params);
	}
	rcu_read_unlock();
}

void migrate_batch_policy_done(const struct migrate_batch *batch)
{
	struct policy *p;

	if (!batch->policy_seq)
		return;
	rcu_read_lock();
	p = rcu_dereference(policy);
	/* What one policy chose is not for another to learn from. */
	if (p && p->seq == batch->policy_seq && p->ops->done)
		p->ops->done(&batch->ctx, &batch->res);
	rcu_read_unlock();
}

static void call_exit(struct policy *p, enum migrate_batch_exit_kind kind)
{
	struct migrate_batch_exit_info info = {};

	if (!p->ops->exit)
		return;
	if (kind == MIGRATE_BATCH_EXIT_INVALID) {
		info.code = p->invalid_value;
		snprintf(info.msg, sizeof(info.msg), "%s=%u is impossible", p->invalid_field,
			 p->invalid_value);
	}
	/* Written last: a reader who sees the kind sees the rest. */
	smp_store_release(&info.kind, kind);
	p->ops->exit(&info);
}

static int call_init(struct migrate_batch_ops *ops)
{
	int ret = ops->init ? ops->init() : 0;

	/* BPF may return anything; only an error number means something to the caller. */
	return ret > 0 || ret < -MAX_ERRNO ? -EINVAL : ret;
}

/* Put @next in the place of the current policy, if any, and let that go for the reason @kind. */
static void policy_replace(struct policy *next, enum migrate_batch_exit_kind kind)
{
	struct policy *prev = policy_locked();

	rcu_assign_pointer(policy, next);
	if (next && !prev)
		static_branch_inc(&migrate_batch_key);
	if (!prev)
		return;
	if (!next)
		static_branch_dec(&migrate_batch_key);
	synchronize_rcu();
	call_exit(prev, kind);
	kfree(prev);
}

static struct policy *policy_create(struct migrate_batch_ops *ops, const struct bpf_link *link)
{
	struct policy *p = kzalloc_obj(*p);
	int ret;

	if (!p)
		return ERR_PTR(-ENOMEM);
	ret = call_init(ops);
	if (ret) {
		kfree(p);
		return ERR_PTR(ret);
	}
	p->ops = ops;
	p->link = link;
	p->seq = ++last_seq;
	return p;
}

static void eject_policy(struct work_struct *work)
{
	struct policy *p;

	mutex_lock(&policy_mutex);
	p = policy_locked();
	if (p && atomic_read(&p->nr_invalid) >= INVALID_BATCHES_MAX) {
		pr_warn("migrate_batch: policy %s ejected: it gave %s=%u, %d batches in a row\n",
			p->ops->name, p->invalid_field, p->invalid_value, INVALID_BATCHES_MAX);
		migrate_batch_count_ejected();
		policy_replace(NULL, MIGRATE_BATCH_EXIT_INVALID);
	}
	mutex_unlock(&policy_mutex);
}

static DECLARE_WORK(eject_work, eject_policy);

/**
 * migrate_batch_policy_judge() - take note of how good the values of a policy were
 * @batch: for which the policy gave them
 * @field: the parameter that had an impossible value, or NULL when there was none
 * @value: that value
 */
void migrate_batch_policy_judge(const struct migrate_batch *batch, const char *field, u32 value)
{
	struct policy *p;

	if (!batch->policy_seq)
		return;
	rcu_read_lock();
	p = rcu_dereference(policy);
	if (p && p->seq == batch->policy_seq) {
		if (!field) {
			if (atomic_read(&p->nr_invalid))
				atomic_set(&p->nr_invalid, 0);
		} else {
			WRITE_ONCE(p->invalid_field, field);
			WRITE_ONCE(p->invalid_value, value);
			if (atomic_inc_return(&p->nr_invalid) == INVALID_BATCHES_MAX)
				schedule_work(&eject_work);
		}
	}
	rcu_read_unlock();
}

/* Name of the attached policy, for sysfs. */
ssize_t migrate_batch_policy_show(char *buf)
{
	struct policy *p;
	ssize_t ret;

	rcu_read_lock();
	p = rcu_dereference(policy);
	ret = sysfs_emit(buf, "%s\n", p ? p->ops->name : "none");
	rcu_read_unlock();
	return ret;
}

/* Attach @ops for @link, in the place of the link's own earlier policy if it has one. */
static int policy_set(struct migrate_batch_ops *ops, const struct bpf_link *link)
{
	struct policy *p;
	int ret = 0;

	mutex_lock(&policy_mutex);
	p = policy_locked();
	if (p && p->link != link) {
		/* Also for a link whose policy was ejected, if another one took the place. */
		ret = -EBUSY;
	} else {
		p = policy_create(ops, link);
		if (IS_ERR(p))
			ret = PTR_ERR(p);
		else
			policy_replace(p, MIGRATE_BATCH_EXIT_UPDATE);
	}
	mutex_unlock(&policy_mutex);
	return ret;
}

static int migrate_batch_ops_reg(void *kdata, struct bpf_link *link)
{
	return link ? policy_set(kdata, link) : -EOPNOTSUPP;
}

static void migrate_batch_ops_unreg(void *kdata, struct bpf_link *link)
{
	struct policy *p;

	mutex_lock(&policy_mutex);
	p = policy_locked();
	/* It may have been ejected before, and another one attached. */
	if (p && p->link == link)
		policy_replace(NULL, MIGRATE_BATCH_EXIT_UNREG);
	mutex_unlock(&policy_mutex);
}

static int migrate_batch_ops_update(void *kdata, void *old_kdata, struct bpf_link *link)
{
	return policy_set(kdata, link);
}

static int migrate_batch_ops_init(struct btf *btf)
{
	return 0;
}

static int migrate_batch_ops_check_member(const struct btf_type *t,
					  const struct btf_member *member,
					  const struct bpf_prog *prog)
{
	/* All of them are called under RCU, and select() and done() with folios isolated. */
	return prog->sleepable ? -EINVAL : 0;
}

static int migrate_batch_ops_init_member(const struct btf_type *t, const struct btf_member *member,
					 void *kdata, const void *udata)
{
	const struct migrate_batch_ops *uops = udata;
	struct migrate_batch_ops *ops = kdata;

	switch (__btf_member_bit_offset(t, member) / 8) {
	case offsetof(struct migrate_batch_ops, name):
		/* 0 is an empty name, and a policy without a name cannot be reported. */
		if (bpf_obj_name_cpy(ops->name, uops->name, sizeof(ops->name)) <= 0)
			return -EINVAL;
		return 1;
	case offsetof(struct migrate_batch_ops, flags):
		return uops->flags ? -EINVAL : 1;
	case offsetof(struct migrate_batch_ops, cgroup_id):
		return uops->cgroup_id ? -EINVAL : 1;
	}
	return 0;
}

/* A policy writes nothing but the parameters it is asked for. */
static int migrate_batch_btf_struct_access(struct bpf_verifier_log *log,
					   const struct bpf_reg_state *reg, int off, int size)
{
	const struct btf_type *t = btf_type_by_id(reg->btf, reg->btf_id);
	s32 id = btf_find_by_name_kind(reg->btf, "migrate_batch_params", BTF_KIND_STRUCT);

	if (id < 0 || t != btf_type_by_id(reg->btf, id)) {
		bpf_log(log, "only struct migrate_batch_params may be written\n");
		return -EACCES;
	}
	if (off < 0 || off + size > sizeof(struct migrate_batch_params)) {
		bpf_log(log, "write of %d bytes at %d is outside of struct migrate_batch_params\n",
			size, off);
		return -EACCES;
	}
	return NOT_INIT;
}

static const struct bpf_verifier_ops migrate_batch_verifier_ops = {
	.get_func_proto = bpf_base_func_proto,
	.is_valid_access = bpf_tracing_btf_ctx_access,
	.btf_struct_access = migrate_batch_btf_struct_access,
};

static void stub_select(const struct migrate_batch_ctx *ctx, struct migrate_batch_params *params)
{
}

static void stub_done(const struct migrate_batch_ctx *ctx, const struct migrate_batch_result *res)
{
}

static s32 stub_init(void)
{
	return 0;
}

static void stub_exit(const struct migrate_batch_exit_info *info)
{
}

static struct migrate_batch_ops cfi_stubs = {
	.select = stub_select,
	.done = stub_done,
	.init = stub_init,
	.exit = stub_exit,
};

static struct bpf_struct_ops bpf_migrate_batch_ops = {
	.name = "migrate_batch_ops",
	.verifier_ops = &migrate_batch_verifier_ops,
	.init = migrate_batch_ops_init,
	.check_member = migrate_batch_ops_check_member,
	.init_member = migrate_batch_ops_init_member,
	.reg = migrate_batch_ops_reg,
	.unreg = migrate_batch_ops_unreg,
	.update = migrate_batch_ops_update,
	.cfi_stubs = &cfi_stubs,
	.owner = THIS_MODULE,
};

static int __init migrate_batch_bpf_init(void)
{
	return register_bpf_struct_ops(&bpf_migrate_batch_ops, migrate_batch_ops);
}
late_initcall(migrate_batch_bpf_init);
