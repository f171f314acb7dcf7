/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables to BPF through libseccomp, and loading. Every process of ours runs the loading
 * half; the tables are constants. */
#include "common/confine/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/confine/sanitize.h"
#include "common/fault.h"
#include "common/fd.h"

#define PROG_MAX 4096u			/* BPF_MAXINSNS of the kernel */
#define WAIT_KILLABLE_RECV (1ul << 5)	/* SECCOMP_FILTER_FLAG_, newer headers */
#define TREE_FROM 32u			/* rules from which the search tree pays */

static int
failed(struct ats_err *err, const char *step)
{
	(void)ats_err_sys(err, "seccomp.%s", step);
	if (err != NULL)
		err->code = ATS_E_CONFINE;
	return -ATS_E_CONFINE;
}

static struct scmp_arg_cmp
compare(const struct ats_seccomp_arg *a)
{
	struct scmp_arg_cmp c = { .arg = a->index, .datum_a = a->value };

	if (a->op == ATS_SECCOMP_NE) {
		c.op = SCMP_CMP_NE;
	} else if (a->op == ATS_SECCOMP_GT) {
		c.op = SCMP_CMP_GT;
	} else {
		c.op = SCMP_CMP_MASKED_EQ;
		c.datum_a = a->op == ATS_SECCOMP_EQ ? 0xffffffffu : a->mask;
		c.datum_b = a->value;
	}
	return c;
}

static int
add_rule(scmp_filter_ctx ctx, const char *table, uint32_t def,
    const struct ats_seccomp_rule *r, struct ats_err *err)
{
	int rc, nr = r->name != NULL ? seccomp_syscall_resolve_name(r->name) : r->nr;
	struct scmp_arg_cmp args[ATS_SECCOMP_ARGS];
	unsigned n = 0;

	if (nr == __NR_SCMP_ERROR)
		return ats_err_set(err, ATS_E_CONFINE, "seccomp.build: %s: unknown call %s",
		    table, r->name);
	if (r->action == def || ats_sanitize_needs(r->name))
		return 0;
	while (n < ATS_SECCOMP_ARGS && r->args[n].op != ATS_SECCOMP_ANY) {
		args[n] = compare(&r->args[n]);
		n++;
	}
	/* Not the _exact variant: a call that this architecture lacks needs no rule. */
	rc = seccomp_rule_add_array(ctx, r->action, nr, n, args);
	if (rc < 0) {
		errno = -rc;
		(void)ats_err_sys(err, "seccomp.build: %s: %s (%d)", table,
		    r->name != NULL ? r->name : "number", nr);
		if (err != NULL)
			err->code = ATS_E_CONFINE;
		return -ATS_E_CONFINE;
	}
	return 0;
}

/* Where the default is to kill, what a sanitizer needs is a rule. */
static int
add_sanitizer(scmp_filter_ctx ctx, uint32_t def, struct ats_err *err)
{
	int rc = 0;

	for (size_t i = 0; ATS_SANITIZED && def != ATS_SECCOMP_ALLOW && rc == 0 &&
	    i < ATS_ARRAY_LEN(ats_sanitize_calls); i++) {
		int nr = seccomp_syscall_resolve_name(ats_sanitize_calls[i]);

		if (nr != __NR_SCMP_ERROR)
			rc = seccomp_rule_add_array(ctx, ATS_SECCOMP_ALLOW, nr, 0, NULL);
	}
	return rc < 0 ? ats_err_set(err, ATS_E_CONFINE, "seccomp.build: sanitizer") : 0;
}

/* A context with all rules, or NULL. */
static scmp_filter_ctx
make_context(const struct ats_seccomp_table *const *tables, size_t ntables,
    struct ats_err *err)
{
	uint32_t def = tables[0]->def;
	scmp_filter_ctx ctx = seccomp_init(def);
	size_t rules = 0;
	int rc = ctx != NULL ? 0 : -1;

	if (rc == 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, ATS_SECCOMP_KILL);
	for (size_t t = 0; t < ntables; t++)
		rules += tables[t]->n;
	if (rc == 0 && rules >= TREE_FROM)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc < 0)
		(void)ats_err_set(err, ATS_E_CONFINE, "seccomp.build: %s: cannot start",
		    tables[0]->name);
	for (size_t t = 0; rc == 0 && t < ntables; t++)
		for (size_t i = 0; rc == 0 && i < tables[t]->n; i++)
			rc = add_rule(ctx, tables[t]->name, def, &tables[t]->rules[i], err);
	if (rc == 0)
		rc = add_sanitizer(ctx, def, err);
	if (rc < 0 && ctx != NULL) {
		seccomp_release(ctx);
		return NULL;
	}
	return ctx;
}

/* libseccomp writes to descriptors only: a memfd makes memory of it. */
static int
export(scmp_filter_ctx ctx, bool text, size_t max, char **ret, size_t *ret_len,
    struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = memfd_create("ats-seccomp", MFD_CLOEXEC);
	off_t size;
	char *p;
	int rc;

	if (fd < 0)
		return failed(err, "memfd");
	rc = text ? seccomp_export_pfc(ctx, fd) : seccomp_export_bpf(ctx, fd);
	errno = -rc;
	if (rc < 0)
		return failed(err, "export");
	size = lseek(fd, 0, SEEK_END);
	if (size <= 0 || (size_t)size > max || lseek(fd, 0, SEEK_SET) != 0)
		return ats_err_set(err, ATS_E_CONFINE, "seccomp.export: %lld bytes",
		    (long long)size);
	p = ats_malloc((size_t)size + 1);
	if (p == NULL)
		return ats_err_set(err, ATS_E_CONFINE, "seccomp.export: out of memory");
	if (ats_fd_read_all(fd, p, (size_t)size) < 0) {
		free(p);
		return failed(err, "read");
	}
	p[size] = '\0';
	*ret = p;
	*ret_len = (size_t)size;
	return 0;
}

int
ats_seccomp_build(const struct ats_seccomp_table *const *tables, size_t ntables,
    struct ats_seccomp_prog *ret, struct ats_err *err)
{
	scmp_filter_ctx ctx;
	char *bytes = NULL;
	size_t n = 0;
	int rc = -ATS_E_CONFINE;

	/* Without memory libseccomp crashes, loops, or loses rules: the first two end a
	 * process that has read nothing yet, the third is why its work is checked. */
	ats_fault_pause(true);
	ctx = make_context(tables, ntables, err);
	if (ctx != NULL) {
		rc = export(ctx, false, PROG_MAX * sizeof(struct sock_filter), &bytes, &n,
		    err);
		seccomp_release(ctx);
	}
	ats_fault_pause(false);
	if (rc < 0)
		return rc;
	ret->insns = bytes;
	ret->n = (unsigned short)(n / sizeof(struct sock_filter));
	rc = ats_seccomp_check(tables, ntables, ret, err);
	if (rc < 0)
		ats_seccomp_done(ret);
	return rc;
}

void
ats_seccomp_done(struct ats_seccomp_prog *p)
{
	free(p->insns);
	p->insns = NULL;
	p->n = 0;
}

int
ats_seccomp_text(const struct ats_seccomp_table *const *tables, size_t ntables,
    char **ret_text, struct ats_err *err)
{
	scmp_filter_ctx ctx = make_context(tables, ntables, err);
	size_t n;
	int rc;

	if (ctx == NULL)
		return -ATS_E_CONFINE;
	rc = export(ctx, true, 4u << 20, ret_text, &n, err);
	seccomp_release(ctx);
	return rc;
}

static int
load(const struct sock_fprog *prog, struct ats_err *err)
{
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0u, prog) != 0)
		return failed(err, "load");
	return 0;
}

int
ats_seccomp_load(const struct ats_seccomp_prog *p, struct ats_err *err)
{
	struct sock_fprog prog = { .len = p->n, .filter = p->insns };

	if (p->insns == NULL || p->n == 0)
		return ats_err_set(err, ATS_E_CONFINE, "seccomp.load: an empty filter");
	return load(&prog, err);
}

int
ats_seccomp_load_listener(const struct ats_seccomp_prog *p, int *ret_listener,
    struct ats_err *err)
{
	const struct sock_fprog prog = { .len = p->n, .filter = p->insns };
	/* What was decided is not asked again because a signal came (Linux 5.19). */
	const unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | WAIT_KILLABLE_RECV,
	    &prog);

	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	if (fd < 0)
		return failed(err, "listen");
	*ret_listener = (int)fd;
	return 0;
}

int
ats_seccomp_load_unknown(unsigned first, struct ats_err *err)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    (uint32_t)offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, ATS_SECCOMP_ERRNO(ENOSYS)),
		BPF_STMT(BPF_RET | BPF_K, ATS_SECCOMP_ALLOW),
	};
	struct sock_fprog prog = { .len = ATS_ARRAY_LEN(insns), .filter = insns };

	return load(&prog, err);
}

int
ats_seccomp_install(const struct ats_seccomp_table *const *tables, size_t ntables,
    struct ats_err *err)
{
	struct ats_seccomp_prog prog = { NULL, 0 };
	int rc = ats_seccomp_build(tables, ntables, &prog, err);

	if (rc == 0)
		rc = ats_seccomp_load_unknown(ATS_SECCOMP_FIRST_UNKNOWN, err);
	if (rc == 0)
		rc = ats_seccomp_load(&prog, err);
	ats_seccomp_done(&prog);
	return rc;
}
