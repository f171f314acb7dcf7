/* SPDX-License-Identifier: Apache-2.0
 *
 * seccomp filters from tables. A table is built once into BPF instructions (libseccomp) and
 * loaded as often as wanted, also after a fork, by one system call. Foreign architectures
 * and x32 are killed in every filter. Filters stack: the strictest answer wins. A name that
 * this libseccomp does not know is an error; use numbers for newer calls. */
#ifndef ATS_COMMON_CONFINE_SECCOMP_H
#define ATS_COMMON_CONFINE_SECCOMP_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/* Actions. */
#define ATS_SECCOMP_ALLOW 0x7fff0000u
#define ATS_SECCOMP_KILL 0x80000000u			/* the whole process, SIGSYS */
#define ATS_SECCOMP_ERRNO(e) (0x00050000u | ((uint32_t)(e) & 0xffffu))

/* Argument tests compare the low 32 bits, as the kernel does for int arguments; a caller
 * cannot slip past with bits above them. MASK: (arg & mask) == value. */
enum ats_seccomp_op { ATS_SECCOMP_ANY, ATS_SECCOMP_EQ, ATS_SECCOMP_MASK,
	/* These compare all 64 bits: use them in rules that refuse (junk above bit 31 is then
	 * refused too), never in rules that allow. */
	ATS_SECCOMP_NE, ATS_SECCOMP_GT };
#define ATS_SECCOMP_ARGS 3
struct ats_seccomp_arg {
	enum ats_seccomp_op op;
	unsigned index;		/* 0-5 */
	uint32_t value, mask;	/* mask: MASK only */
};
struct ats_seccomp_rule {
	const char *name;	/* or NULL: nr */
	int nr;
	uint32_t action;
	struct ats_seccomp_arg args[ATS_SECCOMP_ARGS];	/* all must hold */
};
struct ats_seccomp_table {
	const char *name;	/* for messages */
	uint32_t def;		/* action when no rule matches */
	const struct ats_seccomp_rule *rules;
	size_t n;
};
/* Shorthands for table rows. */
#define ATS_SECCOMP_CALL(act, nm) { .name = (nm), .action = (act) }
#define ATS_SECCOMP_NR(act, number) { .nr = (number), .action = (act) }
#define ATS_SECCOMP_IF(act, nm, ...) { .name = (nm), .action = (act), .args = { __VA_ARGS__ } }
#define ATS_SECCOMP_ARG_EQ(i, v) { ATS_SECCOMP_EQ, (i), (uint32_t)(v), 0 }
#define ATS_SECCOMP_ARG_MASK(i, m, v) { ATS_SECCOMP_MASK, (i), (uint32_t)(v), (uint32_t)(m) }
#define ATS_SECCOMP_ARG_NE(i, v) { ATS_SECCOMP_NE, (i), (uint32_t)(v), 0 }
#define ATS_SECCOMP_ARG_GT(i, v) { ATS_SECCOMP_GT, (i), (uint32_t)(v), 0 }

struct ats_seccomp_prog {
	void *insns;		/* struct sock_filter[n], owned */
	unsigned short n;
};

/* Builds tables[0..ntables) into one filter; the first one's default action holds, a rule
 * whose action is that default is left out. What came is checked against the tables (below).
 * Owned in *ret (ats_seccomp_done). */
ATS_NODISCARD int ats_seccomp_build(const struct ats_seccomp_table *const *tables,
    size_t ntables, struct ats_seccomp_prog *ret, struct ats_err *err);
/* 0 when p does with a call of each rule what some rule says, kills foreign architectures and
 * has the default for the rest; -ATS_E_CONFINE otherwise. */
ATS_NODISCARD int ats_seccomp_check(const struct ats_seccomp_table *const *tables,
    size_t ntables, const struct ats_seccomp_prog *p, struct ats_err *err);
void ats_seccomp_done(struct ats_seccomp_prog *p);	/* frees; a loaded filter stays */
/* The filter as libseccomp's readable text; returns owned in *ret_text. */
ATS_NODISCARD int ats_seccomp_text(const struct ats_seccomp_table *const *tables,
    size_t ntables, char **ret_text, struct ats_err *err);
/* Needs no_new_privs. No allocation, safe in a child after fork. 0 or -ATS_E_CONFINE. */
ATS_NODISCARD int ats_seccomp_load(const struct ats_seccomp_prog *p, struct ats_err *err);
/* The same for one that asks a listener (SECCOMP_RET_USER_NOTIF): owned in *ret_listener, CLOEXEC.
 * A process has one such filter at most. */
ATS_NODISCARD int ats_seccomp_load_listener(const struct ats_seccomp_prog *p, int *ret_listener,
    struct ats_err *err);
/* A second filter of four instructions: every number >= first answers ENOSYS, so that
 * programs fall back from calls this version has never heard of. */
#define ATS_SECCOMP_FIRST_UNKNOWN 467u
ATS_NODISCARD int ats_seccomp_load_unknown(unsigned first, struct ats_err *err);
/* The two together, for a process that confines itself once: ENOSYS for what is unknown,
 * then the tables. Needs no_new_privs. */
ATS_NODISCARD int ats_seccomp_install(const struct ats_seccomp_table *const *tables,
    size_t ntables, struct ats_err *err);

/* Shared tables (common/confine/base.c). base: default allow; what no process of ours and
 * no tool needs ever (bpf, perf, keyctl, io_uring, userfaultfd, modules, kexec, swap,
 * open_by_handle_at ...), socket families but UNIX, INET, INET6 and NETLINK_ROUTE,
 * TIOCSTI and its kin. noexec: in addition what a daemon that parses does not need: execve,
 * ptrace, process_vm, mount family, unshare, setns, chroot, fork (threads stay), limits and
 * priorities of other processes, System V IPC. local: in addition, what one does not need that has
 * its listening sockets and makes none but Unix ones, to connect: other families, bind, listen,
 * symbolic links, signals by pidfd. */
extern const struct ats_seccomp_table ats_seccomp_base;
extern const struct ats_seccomp_table ats_seccomp_noexec;
extern const struct ats_seccomp_table ats_seccomp_local;

#endif
