/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a built filter says what its tables say. Runs where a filter is built, before it
 * is loaded. Reason: libseccomp 2.5 may lose rules when an allocation fails, and report
 * success; a filter without them would let through what it is there to refuse. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <string.h>

#include "common/confine/sanitize.h"
#include "common/confine/seccomp.h"

#define BROKEN 0xffffffffu	/* no action of a filter: it does not end in order */

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#define X32 0x40000000
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

static bool
jumps(const struct sock_filter *in, uint32_t a, bool *ret_taken)
{
	switch (BPF_OP(in->code)) {
	case BPF_JEQ:
		*ret_taken = a == in->k;
		return true;
	case BPF_JGT:
		*ret_taken = a > in->k;
		return true;
	case BPF_JGE:
		*ret_taken = a >= in->k;
		return true;
	case BPF_JSET:
		*ret_taken = (a & in->k) != 0;
		return true;
	default:
		return false;
	}
}

/* The action for data: the part of BPF that libseccomp writes. */
static uint32_t
action_of(const struct ats_seccomp_prog *p, const struct seccomp_data *data)
{
	const struct sock_filter *insns = p->insns;
	uint32_t a = 0;
	size_t at = 0;

	while (at < p->n) {
		const struct sock_filter *in = &insns[at++];
		bool taken = false;

		if (in->code == (BPF_LD | BPF_W | BPF_ABS) &&
		    in->k <= sizeof(*data) - sizeof(a))
			memcpy(&a, (const char *)data + in->k, sizeof(a));
		else if (in->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= in->k;
		else if (in->code == (BPF_RET | BPF_K))
			return in->k;
		else if (in->code == (BPF_JMP | BPF_JA))
			at += in->k;
		else if (BPF_CLASS(in->code) == BPF_JMP && BPF_SRC(in->code) == BPF_K &&
		    jumps(in, a, &taken))
			at += taken ? in->jt : in->jf;
		else
			return BROKEN;
	}
	return BROKEN;
}

/* A call that the rule is about; false where this architecture has none. */
static bool
example(const struct ats_seccomp_rule *r, struct seccomp_data *d)
{
	*d = (struct seccomp_data){ .arch = ARCH };
	d->nr = r->name != NULL ? seccomp_syscall_resolve_name(r->name) : r->nr;
	for (size_t i = 0; i < ATS_SECCOMP_ARGS && r->args[i].op != ATS_SECCOMP_ANY; i++) {
		const struct ats_seccomp_arg *a = &r->args[i];
		bool beside = a->op == ATS_SECCOMP_NE || a->op == ATS_SECCOMP_GT;

		d->args[a->index] = (uint64_t)a->value + (beside ? 1 : 0);
	}
	return d->nr >= 0;
}

static bool
foreign_is_killed(const struct ats_seccomp_prog *p)
{
	struct seccomp_data d = { .arch = AUDIT_ARCH_I386 };

	if (action_of(p, &d) != ATS_SECCOMP_KILL)
		return false;
#ifdef X32
	d = (struct seccomp_data){ .arch = ARCH, .nr = X32 };
	return action_of(p, &d) == ATS_SECCOMP_KILL;
#else
	return true;
#endif
}

int
ats_seccomp_check(const struct ats_seccomp_table *const *tables, size_t ntables,
    const struct ats_seccomp_prog *p, struct ats_err *err)
{
	uint32_t def = tables[0]->def;
	struct seccomp_data d = { .arch = ARCH, .nr = 0x3fffffff };

	if (action_of(p, &d) != def || !foreign_is_killed(p))
		return ats_err_set(err, ATS_E_CONFINE, "seccomp.check: %s: not as its frame says",
		    tables[0]->name);
	for (size_t t = 0; t < ntables; t++)
		for (size_t i = 0; i < tables[t]->n; i++) {
			const struct ats_seccomp_rule *r = &tables[t]->rules[i];
			uint32_t got;

			if (r->action == def || ats_sanitize_needs(r->name) || !example(r, &d))
				continue;
			got = action_of(p, &d);
			/* Rules may overlap: another refusal is one, too. */
			if (got == def || got == BROKEN)
				return ats_err_set(err, ATS_E_CONFINE,
				    "seccomp.check: %s: rule %zu (%s) is not in the filter",
				    tables[t]->name, i, r->name != NULL ? r->name : "number");
		}
	return 0;
}
