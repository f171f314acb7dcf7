/* SPDX-License-Identifier: Apache-2.0
 *
 * hands/match/walk.c: order, and that threads find what one finds. */
#include "hands/match/walk.h"
#include "tests/lib/tool_env.h"

#include <pthread.h>

#define FILES 20			/* in each of 40 directories */

struct seen {
	pthread_mutex_t lock;
	char *paths[8192];
	size_t n;
	const char *last;		/* past this nothing is wanted, or NULL */
};

static void *
state_new(void *ctx)
{
	return ctx;
}

static void
state_free(void *ctx, void *thread)
{
	(void)ctx;
	(void)thread;
}

static void
on_file(void *ctx, void *thread, const struct walk_file *f)
{
	struct seen *s = thread;
	int fd = openat(f->dirfd, f->name, O_RDONLY | O_CLOEXEC);

	(void)ctx;
	ck_assert_int_ge(fd, 0);
	close(fd);
	pthread_mutex_lock(&s->lock);
	ck_assert_uint_lt(s->n, 8192);
	s->paths[s->n++] = strdup(f->path);
	pthread_mutex_unlock(&s->lock);
}

static void
on_warn(void *ctx, const char *path, size_t n, int error)
{
	(void)ctx;
	(void)path;
	(void)n;
	(void)error;
}

static bool
on_past(void *ctx, const char *path, size_t n)
{
	struct seen *s = ctx;

	return s->last != NULL && walk_path_cmp(path, n, s->last, strlen(s->last)) > 0;
}

static int
by_path(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return walk_path_cmp(*x, strlen(*x), *y, strlen(*y));
}

static void
run(const char *dir, unsigned threads, struct seen *s)
{
	static const struct walk_ops ops = { .file = on_file, .warn = on_warn, .past = on_past,
		.thread_new = state_new, .thread_free = state_free };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct walk_options o = { .ops = &ops, .ctx = s, .start_fd = fd, .start = "",
		.ordered = true, .threads = threads };
	uint64_t files = 0;

	pthread_mutex_init(&s->lock, NULL);
	ck_assert_int_eq(walk_run(&o, &files), 0);
	ck_assert_uint_eq(files, s->n);
	close(fd);
}

static void
done(struct seen *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->paths[i]);
	free(s);
}

static void
make(struct fake_env *f)
{
	char name[64];

	for (int d = 0; d < 40; d++) {
		snprintf(name, sizeof(name), d % 2 == 0 ? "ws/d%d" : "ws/d%d/e", d - d % 2);
		ck_assert_int_eq(mkdir(fake_path(f, name), 0755), 0);
		for (int i = 0; i < FILES; i++) {
			size_t n = strlen(name);

			snprintf(name + n, sizeof(name) - n, "/f%d", i);
			fake_put_str(f, name, "");
			name[n] = '\0';
		}
	}
	fake_put_str(f, "ws/d0.x", "");
	ck_assert_int_eq(symlink("..", fake_path(f, "ws/d0/up")), 0);
}

START_TEST(walk_with_one_thread_keeps_path_order)
{
	struct seen *s = calloc(1, sizeof(*s));
	struct fake_env f;

	fake_start(&f);
	make(&f);
	run(f.ws, 1, s);
	ck_assert_uint_eq(s->n, 40 * FILES + 1);
	for (size_t i = 1; i < s->n; i++)
		ck_assert_msg(by_path(&s->paths[i - 1], &s->paths[i]) < 0, "%s before %s",
		    s->paths[i - 1], s->paths[i]);
	done(s);
	fake_stop(&f);
}
END_TEST

START_TEST(walk_with_many_threads_finds_the_same)
{
	struct fake_env f;

	fake_start(&f);
	make(&f);
	for (int round = 0; round < 30; round++) {
		struct seen *s = calloc(1, sizeof(*s));

		run(f.ws, 8, s);
		ck_assert_uint_eq(s->n, 40 * FILES + 1);
		qsort(s->paths, s->n, sizeof(char *), by_path);
		for (size_t i = 1; i < s->n; i++)
			ck_assert_int_lt(by_path(&s->paths[i - 1], &s->paths[i]), 0);
		done(s);
	}
	fake_stop(&f);
}
END_TEST

START_TEST(walk_stops_at_what_is_past)
{
	struct seen *s = calloc(1, sizeof(*s));
	struct fake_env f;

	fake_start(&f);
	make(&f);
	s->last = "d10/e/f12";
	run(f.ws, 4, s);
	ck_assert_uint_lt(s->n, 12 * FILES);
	done(s);
	fake_stop(&f);
}
END_TEST

START_TEST(walk_path_cmp_orders_components)
{
	static const struct {
		const char *a, *b;
		int want;
	} rows[] = {
		{ "a", "a", 0 }, { "a", "b", -1 }, { "a/z", "a.c", -1 }, { "a", "a/b", -1 },
		{ "a-b", "a/b", 1 }, { "a/b/c", "a/b0", -1 }, { "\xff", "z", 1 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		ck_assert_int_eq(walk_path_cmp(rows[i].a, strlen(rows[i].a), rows[i].b,
		    strlen(rows[i].b)), rows[i].want);
}
END_TEST

START_TEST(walk_of_a_deep_tree_ends)
{
	struct seen *s = calloc(1, sizeof(*s));
	struct fake_env f;
	char command[200];
	int fd;

	fake_start(&f);
	fd = open(f.ws, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 300; i++) {
		int next;

		ck_assert_int_eq(mkdirat(fd, "deeper-and-deeper-and-deeper", 0755), 0);
		next = openat(fd, "deeper-and-deeper-and-deeper",
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	close(fd);
	run(f.ws, 2, s);		/* the last levels are over the limit: warned about */
	ck_assert_uint_eq(s->n, 0);
	done(s);
	snprintf(command, sizeof(command), "rm -rf %s/ws", f.base);
	ck_assert_int_eq(system(command), 0);
	fake_stop(&f);
}
END_TEST

ATS_UNIT_MAIN("walk", walk_with_one_thread_keeps_path_order,
    walk_with_many_threads_finds_the_same, walk_stops_at_what_is_past,
    walk_path_cmp_orders_components, walk_of_a_deep_tree_ends)
