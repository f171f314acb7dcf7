/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of a walk and the stack of directories they share. Reading one directory is
 * walk_dir.c. A directory keeps its descriptor while it is on the stack or being used, and
 * its rules while any directory below it lives. Runs in read workers. */
#include "hands/match/walk.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hands/match/walk_dir.h"

#define BATCH 16u		/* files taken at once */
#define ALONE 6u		/* takings before other threads are worth starting */
#define THREAD_STACK (512u << 10)

struct walk {
	const struct walk_options *o;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct walk_dir **stack;	/* the last is served first */
	size_t depth, cap;
	unsigned busy;			/* threads that may push more */
	unsigned waiting;
	bool stop;
	int rc;
	uint64_t files;
};
struct crew {				/* one thread */
	struct walk *w;
	void *thread;			/* the user's */
	struct walk_reader reader;
	uint64_t files;			/* not yet added to the walk's */
};
struct taking {
	struct walk_dir *dir;
	size_t first, count;
	bool subdir;
};

static void
release(struct walk_dir *d)
{
	if (__atomic_sub_fetch(&d->users, 1, __ATOMIC_ACQ_REL) == 0)
		walk_dir_close(d);
}

/* Takes the next files, or one subdirectory. False: the walk has ended. */
static bool
take(struct crew *c, bool was_busy, struct taking *ret)
{
	struct walk *w = c->w;
	bool got = false;

	(void)pthread_mutex_lock(&w->lock);
	w->busy -= was_busy;
	__atomic_add_fetch(&w->files, c->files, __ATOMIC_RELAXED);
	c->files = 0;
	for (;;) {
		struct walk_dir *d;

		while (w->depth > 0 && w->stack[w->depth - 1]->next == w->stack[w->depth - 1]->n) {
			d = w->stack[--w->depth];
			release(d);
		}
		if (w->stop || (w->depth == 0 && w->busy == 0))
			break;
		if (w->depth == 0) {
			w->waiting++;
			(void)pthread_cond_wait(&w->wake, &w->lock);
			w->waiting--;
			continue;
		}
		d = w->stack[w->depth - 1];
		*ret = (struct taking){ .dir = d, .first = d->next, .count = 1 };
		ret->subdir = d->entries[d->next].kind == WALK_DIR;
		while (!ret->subdir && ret->count < BATCH && d->next + ret->count < d->n &&
		    d->entries[d->next + ret->count].kind != WALK_DIR)
			ret->count++;
		d->next += ret->count;
		__atomic_add_fetch(&d->users, 1, __ATOMIC_RELAXED);
		w->busy++;
		got = true;
		break;
	}
	if (!got)
		(void)pthread_cond_broadcast(&w->wake);
	(void)pthread_mutex_unlock(&w->lock);
	return got;
}

static void
stop(struct walk *w, int rc)
{
	(void)pthread_mutex_lock(&w->lock);
	w->stop = true;
	if (w->rc == 0)
		w->rc = rc;
	(void)pthread_cond_broadcast(&w->wake);
	(void)pthread_mutex_unlock(&w->lock);
}

/* Takes the directory. */
static void
push(struct walk *w, struct walk_dir *d)
{
	(void)pthread_mutex_lock(&w->lock);
	if (w->depth == w->cap) {
		size_t cap = w->cap != 0 ? w->cap * 2 : 64;
		struct walk_dir **stack = realloc(w->stack, cap * sizeof(*w->stack));

		if (stack == NULL) {
			w->stop = true;
			w->rc = -ATS_E_NOMEM;
			(void)pthread_mutex_unlock(&w->lock);
			release(d);
			return;
		}
		w->stack = stack;
		w->cap = cap;
	}
	w->stack[w->depth++] = d;
	if (w->waiting > 0)
		(void)pthread_cond_signal(&w->wake);
	(void)pthread_mutex_unlock(&w->lock);
}

static void
enter_subdir(struct crew *c, const struct taking *t)
{
	const struct walk_options *o = c->w->o;
	struct walk_dir *d = NULL;
	size_t n = walk_dir_path(&c->reader, t->dir, &t->dir->entries[t->first]);
	int rc;

	if (o->ops->past != NULL && o->ops->past(o->ctx, c->reader.path, n))
		return;
	rc = walk_dir_open(&c->reader, o, t->dir, &t->dir->entries[t->first], n, &d);
	if (rc == -ATS_E_NOMEM)
		stop(c->w, rc);
	else if (rc == 0)
		push(c->w, d);
}

static void
give_files(struct crew *c, const struct taking *t)
{
	const struct walk_options *o = c->w->o;

	for (size_t i = 0; i < t->count; i++) {
		const struct walk_entry *e = &t->dir->entries[t->first + i];
		struct walk_file f = {
			.dirfd = t->dir->fd,
			.name = t->dir->names + e->name,
			.symlink = e->kind == WALK_LINK,
		};

		f.path_len = walk_dir_path(&c->reader, t->dir, e);
		f.path = c->reader.path;
		if (o->ops->past != NULL && o->ops->past(o->ctx, f.path, f.path_len))
			return;
		o->ops->file(o->ctx, c->thread, &f);
		c->files++;
	}
}

static int
crew_init(struct crew *c, struct walk *w)
{
	*c = (struct crew){ .w = w };
	if (walk_reader_init(&c->reader) < 0)
		return -ATS_E_NOMEM;
	c->thread = w->o->ops->thread_new(w->o->ctx);
	return c->thread != NULL ? 0 : -ATS_E_NOMEM;
}

static void
crew_done(struct crew *c)
{
	if (c->thread != NULL)
		c->w->o->ops->thread_free(c->w->o->ctx, c->thread);
	walk_reader_done(&c->reader);
}

static void
work_on(struct crew *c, const struct taking *t)
{
	if (t->subdir)
		enter_subdir(c, t);
	else
		give_files(c, t);
	release(t->dir);
}

static void *
helper(void *arg)
{
	struct crew c;
	struct taking t;
	bool busy = false;

	if (crew_init(&c, arg) < 0)
		stop(arg, -ATS_E_NOMEM);
	else
		for (; take(&c, busy, &t); busy = true)
			work_on(&c, &t);
	crew_done(&c);
	return NULL;
}

static unsigned
cpus(const struct walk_options *o)
{
	cpu_set_t set;
	int n;

	if (o->threads > 0)
		return o->threads < WALK_THREADS_MAX ? o->threads : WALK_THREADS_MAX;
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 2;
	n = CPU_COUNT(&set);
	return n < (int)WALK_THREADS_MAX ? (unsigned)n : WALK_THREADS_MAX;
}

static unsigned
start_helpers(struct walk *w, pthread_t *threads)
{
	unsigned n = 0, want = cpus(w->o);
	pthread_attr_t attr;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, THREAD_STACK);
	while (n + 1 < want && pthread_create(&threads[n], &attr, helper, w) == 0)
		n++;
	(void)pthread_attr_destroy(&attr);
	return n;
}

/* The calling thread's part: the helpers are started when the tree proves not to be small. */
static void
lead(struct walk *w, struct crew *c)
{
	const struct walk_options *o = w->o;
	pthread_t threads[WALK_THREADS_MAX];
	unsigned helpers = 0, takings = 0;
	bool started = false, busy = false;
	struct taking t;

	for (; take(c, busy, &t); busy = true) {
		if (!started && ++takings > ALONE) {
			started = true;
			helpers = start_helpers(w, threads);
		}
		work_on(c, &t);
		if (o->ops->progress != NULL && !o->ops->progress(o->ctx,
		    __atomic_load_n(&w->files, __ATOMIC_RELAXED) + c->files))
			stop(w, 0);
	}
	for (unsigned i = 0; i < helpers; i++)
		(void)pthread_join(threads[i], NULL);
}

int
walk_run(const struct walk_options *o, uint64_t *ret_files)
{
	struct walk w = { .o = o };
	struct walk_dir *d = NULL;
	struct crew c;
	int rc;

	walk_lock_init(&w.lock);
	(void)pthread_cond_init(&w.wake, NULL);
	rc = crew_init(&c, &w);
	if (rc == 0)
		rc = walk_dir_start(&c.reader, o, &d);
	if (rc == 0) {
		push(&w, d);
		lead(&w, &c);
		rc = w.rc;
	}
	while (w.depth > 0)
		release(w.stack[--w.depth]);
	*ret_files = w.files + c.files;
	crew_done(&c);
	free(w.stack);
	(void)pthread_cond_destroy(&w.wake);
	(void)pthread_mutex_destroy(&w.lock);
	return rc;
}

void
walk_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	(void)pthread_mutexattr_init(&attr);
	(void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	(void)pthread_mutex_init(lock, &attr);
	(void)pthread_mutexattr_destroy(&attr);
}

int
walk_path_cmp(const char *a, size_t an, const char *b, size_t bn)
{
	size_t n = an < bn ? an : bn, i = 0;

	while (i < n && a[i] == b[i])
		i++;
	if (i == n)
		return an == bn ? 0 : an < bn ? -1 : 1;
	/* A slash ends a name, and a name's end comes before any byte. */
	if (a[i] == '/' || b[i] == '/')
		return a[i] == '/' ? -1 : 1;
	return (unsigned char)a[i] < (unsigned char)b[i] ? -1 : 1;
}
