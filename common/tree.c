/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes of a call, from /proc. Runs in monitors, and above programs of gateways; the names
 * are the tools' own and may hold anything. */
#include "common/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCS_FIRST 256
#define PROCS_MAX (1u << 20)
#define END_ROUNDS 500		/* of 2 ms */
#define ENDER_MS 500

struct proc {
	pid_t pid, ppid;
	char state;
	char comm[17];
	enum { UNKNOWN, OURS, KEPT } whose;
};
struct procs {
	size_t n, room;
	struct proc *p;		/* by pid */
};

static bool
proc_read(const char *pid, struct proc *ret)
{
	char path[64], text[512];
	char *open_paren, *close_paren;
	ssize_t n;
	int fd, ppid = 0;

	(void)snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text - 1);
	(void)close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	open_paren = strchr(text, '(');
	close_paren = strrchr(text, ')');	/* a name may hold parentheses */
	if (open_paren == NULL || close_paren == NULL || close_paren < open_paren ||
	    sscanf(close_paren + 1, " %c %d", &ret->state, &ppid) != 2)
		return false;
	*close_paren = '\0';
	(void)snprintf(ret->comm, sizeof ret->comm, "%s", open_paren + 1);
	ret->pid = (pid_t)strtol(pid, NULL, 10);
	ret->ppid = (pid_t)ppid;
	ret->whose = UNKNOWN;
	return true;
}

static void
procs_free(struct procs *ps)
{
	free(ps->p);
	ps->p = NULL;
	ps->n = ps->room = 0;
}

static bool
procs_grow(struct procs *ps)
{
	size_t room = ps->room != 0 ? 2 * ps->room : PROCS_FIRST;
	struct proc *p;

	if (ps->n < ps->room)
		return true;
	p = room <= PROCS_MAX ? realloc(ps->p, room * sizeof *p) : NULL;
	if (p == NULL)
		return false;
	ps->p = p;
	ps->room = room;
	return true;
}

static int
by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct proc *)a)->pid, y = ((const struct proc *)b)->pid;

	return (x > y) - (x < y);
}

/* False: nothing is known. Where memory ends the list does, too. */
static bool
procs_list(struct procs *ps)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	*ps = (struct procs){ 0 };
	if (d == NULL)
		return false;
	while ((e = readdir(d)) != NULL && procs_grow(ps))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
		    proc_read(e->d_name, &ps->p[ps->n]))
			ps->n++;
	(void)closedir(d);
	if (ps->n > 0)
		qsort(ps->p, ps->n, sizeof *ps->p, by_pid);
	return ps->n > 0;
}

static struct proc *
procs_find(const struct procs *ps, pid_t pid)
{
	const struct proc key = { .pid = pid };

	return bsearch(&key, ps->p, ps->n, sizeof key, by_pid);
}

static void
keep_one(const struct procs *ps, pid_t pid)
{
	struct proc *p = procs_find(ps, pid);

	if (p != NULL)
		p->whose = KEPT;
}

/* Whose it is follows from its parents. OURS: in a namespace everybody, elsewhere the
 * descendants of this process. Several passes, since a parent may be listed after its child. */
static void
mark(struct procs *ps, bool namespaced)
{
	pid_t self = getpid();
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < ps->n; i++) {
			struct proc *p = &ps->p[i], *parent;

			if (p->whose != UNKNOWN || p->pid == self)
				continue;
			parent = namespaced ? NULL : procs_find(ps, p->ppid);
			if (namespaced || p->ppid == self)
				p->whose = OURS;
			else if (parent != NULL)
				p->whose = parent->whose;
			more = more || (p->whose != UNKNOWN && !namespaced);
		}
	}
}

/* It looks dead: then it may still be one whose first thread ended, so that it is signalled
 * all the same. */
static bool
looks_dead(const struct proc *p)
{
	return p->state == 'Z' || p->state == 'X';
}

static void
signal_ours(const struct procs *ps, int sig)
{
	for (size_t i = 0; i < ps->n; i++)
		if (ps->p[i].whose == OURS)
			(void)kill(ps->p[i].pid, sig);
}

/* All at once, and waits until that is done. A second time it is done already. */
static void
use_ender(const struct tree *t)
{
	struct pollfd p = { .fd = t->ender_sock, .events = POLLIN };

	if (t->ender_sock < 0)
		return;
	(void)shutdown(t->ender_sock, SHUT_WR);
	(void)poll(&p, 1, ENDER_MS);
}

void
tree_signal(const struct tree *t, int sig)
{
	struct procs ps;

	if (t->namespaced) {
		(void)kill(-1, sig);
		return;
	}
	if (sig == SIGKILL)
		use_ender(t);
	if (procs_list(&ps)) {
		keep_one(&ps, t->ender);
		mark(&ps, false);
		signal_ours(&ps, sig);
	}
	procs_free(&ps);
}

/* Forgets those of that name; how many they were. */
static unsigned
take_name(struct procs *ps, const char *comm)
{
	unsigned n = 0;

	for (size_t i = 0; i < ps->n; i++)
		if (ps->p[i].whose == OURS && !looks_dead(&ps->p[i]) &&
		    strcmp(ps->p[i].comm, comm) == 0) {
			ps->p[i].whose = KEPT;
			n++;
		}
	return n;
}

uint32_t
tree_names(const struct tree *t, char *out, size_t size)
{
	struct procs ps;
	uint32_t count = 0;
	size_t used = 0;

	out[0] = '\0';
	if (procs_list(&ps)) {
		keep_one(&ps, t->ender);
		mark(&ps, t->namespaced);
	}
	for (size_t i = 0; i < ps.n; i++) {
		char name[40];
		unsigned n;

		if (ps.p[i].whose != OURS || looks_dead(&ps.p[i]))
			continue;
		n = take_name(&ps, ps.p[i].comm);
		count += n;
		if (n > 1)
			(void)snprintf(name, sizeof name, "%s (%u)", ps.p[i].comm, n);
		else
			(void)snprintf(name, sizeof name, "%s", ps.p[i].comm);
		if (used + strlen(name) + 3 < size)
			used += (size_t)snprintf(out + used, size - used, "%s%s",
			    used > 0 ? ", " : "", name);
	}
	procs_free(&ps);
	return count;
}

/* One pass; what forks meanwhile is for the next one. True: somebody was there to be killed. */
static bool
kill_descendants(const pid_t *keep, size_t nkeep)
{
	struct procs ps;
	bool any = false;

	if (procs_list(&ps)) {
		for (size_t i = 0; i < nkeep; i++)
			keep_one(&ps, keep[i]);
		mark(&ps, false);
		signal_ours(&ps, SIGKILL);
	}
	for (size_t i = 0; i < ps.n; i++)
		any = any || (ps.p[i].whose == OURS && !looks_dead(&ps.p[i]));
	procs_free(&ps);
	return any;
}

void
tree_end(const struct tree *t)
{
	pid_t pid = 0;

	use_ender(t);
	for (int i = 0; i < END_ROUNDS; i++) {
		if (t->namespaced)
			(void)kill(-1, SIGKILL);
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0)
			return; /* no child, and all of ours end as our children */
		if (!t->namespaced)
			(void)kill_descendants(&t->ender, 1);
		(void)poll(NULL, 0, 2);
	}
}

void
tree_end_orphans(const pid_t *keep, size_t nkeep)
{
	for (int i = 0; i < END_ROUNDS && kill_descendants(keep, nkeep); i++)
		(void)poll(NULL, 0, 2);
}
