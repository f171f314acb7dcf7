/* SPDX-License-Identifier: Apache-2.0
 *
 * What the interceptor of libats costs a runtime whose tools run on its host: instructions and
 * conditional branches of a dispatch with it and of one without, counted one by one in a traced
 * child, so that nothing else on the machine is in the figures.
 *
 * Prints {"plain":N,"off":N,"branches":N,"one_way":true}: instructions a call without it and with
 * it, conditional branches that it adds, and whether each of them always goes the same way. */
#include <ats.h>
#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 100
#define SITES_MAX 64

static volatile unsigned sink;

/* The runtime's own tool, and the way into the sandbox. */
static void __attribute__((noinline, noipa))
native(const char *tool)
{
	sink += (unsigned char)tool[0];
}

static void __attribute__((noinline, noipa))
forwarded(const char *tool)
{
	sink -= (unsigned char)tool[0];
}

static void __attribute__((noinline, noipa))
plain(const char *tool)
{
	native(tool);
}

static void __attribute__((noinline, noipa))
with_interceptor(const char *tool)
{
	if (ats_servable(tool))
		forwarded(tool);
	else
		native(tool);
}

static void __attribute__((noinline, noipa))
begin(void)
{
	__asm__ volatile("");
}

static void __attribute__((noinline, noipa))
end(void)
{
	__asm__ volatile("" ::: "memory");
}

typedef void dispatch_fn(const char *tool);

static void
child(dispatch_fn *fn)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(2);
	(void)raise(SIGSTOP);
	begin();
	for (unsigned i = 0; i < CALLS; i++)
		fn("Bash");
	end();
	_exit(0);
}

/* ---- the tracer --------------------------------------------------------------------------- */

struct site {
	uint64_t at;
	unsigned taken, passed;
};
struct counts {
	uint64_t instructions, branches;
	struct site sites[SITES_MAX];
	unsigned nsites;
};

static uint64_t
pc_of(pid_t pid)
{
	struct user_regs_struct regs;
	struct iovec v = { &regs, sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)(uintptr_t)NT_PRSTATUS, &v) < 0)
		exit(2);
#if defined(__x86_64__)
	return regs.rip;
#elif defined(__aarch64__)
	return regs.pc;
#else
#error "how does this machine call its program counter?"
#endif
}

/* The length of a conditional branch at pc, or 0. */
static unsigned
branch_at(pid_t pid, uint64_t pc)
{
	uint64_t word = (uint64_t)ptrace(PTRACE_PEEKTEXT, pid, (void *)(uintptr_t)pc, NULL);

#if defined(__x86_64__)
	if ((word & 0xf0) == 0x70)
		return 2;
	return (word & 0xf0ff) == 0x800f ? 6 : 0;
#else
	unsigned top = (unsigned)(word >> 24) & 0x7f;

	return top == 0x54 || (top >= 0x34 && top <= 0x37) ? 4 : 0;
#endif
}

static void
note(struct counts *c, uint64_t at, bool taken)
{
	struct site *s = c->sites;

	while (s < c->sites + c->nsites && s->at != at)
		s++;
	if (s == c->sites + SITES_MAX)
		exit(2);
	if (s == c->sites + c->nsites)
		*s = (struct site){ .at = at }, c->nsites++;
	s->taken += taken;
	s->passed += !taken;
	c->branches++;
}

static uint64_t
step(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) != pid ||
	    !WIFSTOPPED(status))
		exit(2);
	return pc_of(pid);
}

static void
count(dispatch_fn *fn, struct counts *c)
{
	uint64_t pc, next, stop = (uint64_t)(uintptr_t)end;
	unsigned n;
	pid_t pid = fork();

	memset(c, 0, sizeof(*c));
	if (pid == 0)
		child(fn);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(2);
	for (pc = pc_of(pid); pc != (uint64_t)(uintptr_t)begin;)
		pc = step(pid);
	while (pc != stop) {
		n = branch_at(pid, pc);
		next = step(pid);
		c->instructions++;
		if (n > 0)
			note(c, pc, next != pc + n);
		pc = next;
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* The loop's own branch goes the other way once. */
static bool
one_way(const struct counts *c)
{
	for (unsigned i = 0; i < c->nsites; i++)
		if (c->sites[i].taken > 1 && c->sites[i].passed > 1)
			return false;
	return true;
}

int
main(void)
{
	static struct counts without, with;

	if (ats_init()) {
		fprintf(stderr, "interceptor: REMOTE_TOOLS_URL is set\n");
		return 2;
	}
	count(plain, &without);
	count(with_interceptor, &with);
	printf("{\"plain\":%.2f,\"off\":%.2f,\"branches\":%.2f,\"one_way\":%s}\n",
	    (double)without.instructions / CALLS, (double)with.instructions / CALLS,
	    (double)(with.branches - without.branches) / CALLS, one_way(&with) ? "true" : "false");
	return 0;
}
