/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stack of seccomp filters answers to a list of system calls, asked of the kernel.
 * A child loads the real filters and makes the calls, but none is ever carried out: below
 * the filters lies one of ours that hands every call to this process (user notification). A
 * refusal by a filter comes before that; what arrives here was allowed, and is answered with
 * an errno that the kernel does not use. A call that kills costs a new child. */
#ifndef ATS_TESTS_LIB_CALL_PROBE_H
#define ATS_TESTS_LIB_CALL_PROBE_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/int80.h"
#include "tests/lib/unit.h"

#define PROBE_X32 0x40000000L
#define PROBE_I386 0x80000000L		/* by int 0x80 */
#define PROBE_ALLOWED 4001		/* an errno of our own */
#define PROBE_KILLED 4002
#define PROBE_CALLS_MAX 1024

struct probe_call {
	long nr;		/* with PROBE_X32 or PROBE_I386 added */
	unsigned long args[4];
	const char *text;	/* for people; NULL: the name of the call */
};
struct probe_shared {
	atomic_int listener;	/* the child's number for it, which is ours: files are shared */
	atomic_bool asking, done;
	atomic_size_t at;
	int answer[PROBE_CALLS_MAX];
};

static inline void
probe_child(struct probe_shared *s, const struct probe_call *calls, size_t from, size_t n,
    void (*load)(void *), void *ctx)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	struct sock_fprog prog = { 1, &all };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	atomic_store(&s->listener, (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog));
	load(ctx);
	atomic_store(&s->asking, true);
	for (size_t i = from; i < n; i++) {
		const struct probe_call *c = &calls[i];
		long rc;

		atomic_store(&s->at, i);
		if ((c->nr & PROBE_I386) != 0 && !int80_is_there()) {
			s->answer[i] = PROBE_KILLED;	/* by the processor */
			continue;
		}
		if ((c->nr & PROBE_I386) != 0)
			rc = int80_call(c->nr & ~PROBE_I386);
		else
			rc = syscall(c->nr, c->args[0], c->args[1], c->args[2], c->args[3], 0, 0);
		s->answer[i] = rc == -1 ? errno : 0;
	}
	atomic_store(&s->done, true);
	for (;;)
		(void)syscall(SYS_exit_group, 0);
}

/* Answers the child's calls until it is through or dead; true: it is through. */
static inline bool
probe_serve(struct probe_shared *s, int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	for (;;) {
		struct seccomp_notif in = { 0 };
		struct seccomp_notif_resp out = { 0 };

		if (poll(&p, 1, 10000) <= 0)
			ck_abort_msg("the child is silent at call %zu", atomic_load(&s->at));
		if ((p.revents & POLLIN) == 0)
			return false;
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0)
			continue;	/* it died meanwhile */
		if (atomic_load(&s->done))
			return true;
		out.id = in.id;
		if (atomic_load(&s->asking))
			out.error = -PROBE_ALLOWED;
		else
			out.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
	}
}

/* One child: calls from on, up to the one that kills it. Returns the next to ask. */
static inline size_t
probe_some(struct probe_shared *s, const struct probe_call *calls, size_t from, size_t n,
    void (*load)(void *), void *ctx)
{
	int listener, status;
	bool through;
	pid_t pid;

	(void)int80_is_there();		/* the child may not find out any more */
	atomic_store(&s->listener, -1);
	atomic_store(&s->asking, false);
	atomic_store(&s->done, false);
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		probe_child(s, calls, from, n, load, ctx);
	ck_assert_int_gt(pid, 0);
	while ((listener = atomic_load(&s->listener)) < 0 && waitpid(pid, NULL, WNOHANG) == 0)
		(void)usleep(50);
	ck_assert_msg(listener >= 0, "no listener: %d", listener);
	through = probe_serve(s, listener);
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	(void)close(listener);
	if (through)
		return n;
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
	    "call %zu: status %#x", atomic_load(&s->at), (unsigned)status);
	ck_assert_msg(atomic_load(&s->asking), "killed while it loads its filters");
	s->answer[atomic_load(&s->at)] = PROBE_KILLED;
	return atomic_load(&s->at) + 1;
}

/* ret[i]: PROBE_ALLOWED, PROBE_KILLED or the errno of a refusal. load runs in the child and
 * must leave it with the filters in question. */
static inline void
probe_calls(const struct probe_call *calls, size_t n, void (*load)(void *), void *ctx, int *ret)
{
	struct probe_shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(s, MAP_FAILED);
	ck_assert_uint_le(n, PROBE_CALLS_MAX);
	for (size_t i = 0; i < n;)
		i = probe_some(s, calls, i, n, load, ctx);
	memcpy(ret, s->answer, n * sizeof *ret);
	(void)munmap(s, sizeof *s);
}

static inline const char *
probe_word(int answer)
{
	switch (answer) {
	case PROBE_ALLOWED:
		return "yes";
	case PROBE_KILLED:
		return "KILL";
	default:
		return strerrorname_np(answer);
	}
}

#endif
