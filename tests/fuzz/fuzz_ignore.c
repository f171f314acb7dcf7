/* SPDX-License-Identifier: Apache-2.0
 *
 * Rule files from anybody. Input: which allocation fails, flags, path, newline, then the
 * rules of the directories on the way to the path, from the top: .gitignore, .ignore,
 * exclude and the user's own of each, a byte 1 between two files. A file's verdict is
 * what a slow matcher makes of its lines one by one; the chain's is what the order of
 * files and directories makes of those. */
#include "hands/match/ignore.h"
#include "tests/fuzz/glob_reference.h"

#include <fcntl.h>
#include <unistd.h>

enum {
	IS_DIR = 1,
	BY_FILE = 2,
	REPEATED = 4,
	REPOSITORY = 8
}; /* REPOSITORY << directory */
enum { DIRS = 3, KINDS = 4 };

/* What is asked, and by which rules. */
struct ask {
	struct ats_slice path;
	size_t name_at;
	bool is_dir;
};

/* Without blanks at its end, unless they are escaped. */
static struct ats_slice
trimmed(struct ats_slice line)
{
	size_t end = 0;

	for (size_t i = 0; i < line.n; i++) {
		bool escaped = line.p[i] == '\\';

		i += escaped;
		if (escaped || line.p[i] != ' ')
			end = i < line.n ? i + 1 : line.n;
	}
	line.n = end;
	return line;
}

/* A verdict, or -1: too large to say. */
static int
line_says(struct ats_slice line, const struct ask *a)
{
	struct ats_slice name = { a->path.p + a->name_at, a->path.n - a->name_at };
	bool negated = false;
	int hit = 0;

	if (line.n == 0 || line.p[0] == '#')
		return IGNORE_NONE;
	line = trimmed(line);
	if (line.n > 0 && line.p[0] == '!') {
		negated = true;
		line.p++;
		line.n--;
	}
	if (line.n > 0 && line.p[line.n - 1] == '/') {
		if (!a->is_dir)
			return IGNORE_NONE;
		line.n--;
	}
	if (memchr(line.p, '/', line.n) == NULL) {
		hit = line.n == 0 ? 0 : reference_path(line, name);
	} else {
		size_t plain = 0;

		if (line.p[0] == '/') {
			line.p++;
			line.n--;
		}
		/* git compares what stands before the first wildcard, then matches the
		 * rest */
		while (plain < line.n && strchr("*?[\\", line.p[plain]) == NULL)
			plain++;
		if (line.n > 0 && plain <= a->path.n &&
		    memcmp(line.p, a->path.p, plain) == 0)
			hit = reference_path(
			    (struct ats_slice){ line.p + plain, line.n - plain },
			    (struct ats_slice){ a->path.p + plain, a->path.n - plain });
	}
	return hit < 0 ? -1 : hit == 0 ? IGNORE_NONE : negated ? IGNORE_NO : IGNORE_YES;
}

static int
file_says(struct ats_slice text, const struct ask *a)
{
	int verdict = IGNORE_NONE;
	size_t at = text.n >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (at < text.n) {
		const char *p = text.p + at, *nl = memchr(p, '\n', text.n - at);
		struct ats_slice line = { p,
			nl != NULL ? (size_t)(nl - p) : text.n - at };
		int v;

		at += line.n + 1;
		if (line.n > 0 && p[line.n - 1] == '\r')
			line.n--;
		line.n = strnlen(line.p, line.n);
		v = line_says(line, a);
		if (v < 0)
			return -1;
		if (v != IGNORE_NONE)
			verdict = v;
	}
	return verdict;
}

static struct ignore_rules *
read_file(struct ats_slice text)
{
	struct ignore_rules *r;
	char name[64];
	int dir = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

	(void)snprintf(name, sizeof(name), "ats-fuzz-ignore-%ld", (long)getpid());
	fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FUZZ_CHECK(dir >= 0 && fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n);
	r = ignore_read(dir, name);
	FUZZ_CHECK(unlinkat(dir, name, 0) == 0 && ignore_read(dir, name) == NULL);
	(void)close(fd);
	(void)close(dir);
	return r;
}

/* One file; false: it is too large for the slow matcher, or memory was out. */
static bool
make_rules(struct ats_slice text, const struct ask *a, unsigned flags, unsigned *fault,
    struct ignore_rules **ret, int *ret_verdict)
{
	ats_fault_alloc(*fault);
	*ret = (flags & BY_FILE) != 0 ? read_file(text) : ignore_parse(text.p, text.n);
	ats_fault_alloc(0);
	*ret_verdict = file_says(text, a);
	if (*ret == NULL) {
		FUZZ_CHECK(*ret_verdict <= IGNORE_NONE || *fault > 0);
		return *fault == 0;
	}
	*fault = 0;
	if (*ret_verdict < 0)
		return false;
	FUZZ_CHECK((int)ignore_match(*ret, a->path.p, a->path.n, a->name_at, a->is_dir) ==
		   *ret_verdict);
	return true;
}

static struct ats_slice
next_file(struct ats_slice *rest)
{
	const char *end = memchr(rest->p, 1, rest->n);
	struct ats_slice s = { rest->p, end != NULL ? (size_t)(end - rest->p) : rest->n };
	size_t k = s.n + (end != NULL);

	rest->p += k;
	rest->n -= k;
	return s;
}

struct chain {
	struct ignore_dir d[DIRS];
	int says[DIRS][KINDS];
	size_t n;
};

/* .ignore, then .gitignore, exclude, the user's own; of each the nearest. All but the
 * first up to the nearest repository, and only if there is one. */
static bool
chain_says(const struct chain *c)
{
	static const int order[KINDS] = { 1, 0, 2, 3 };
	size_t top = c->n;

	for (size_t i = 0; i < c->n; i++)
		if (c->d[i].repository)
			top = i;
	for (size_t k = 0; k < KINDS; k++)
		for (size_t i = c->n; i-- > (k == 0 ? 0 : top);)
			if (c->says[i][order[k]] != IGNORE_NONE)
				return c->says[i][order[k]] == IGNORE_YES;
	return false;
}

static void
decide(struct ats_slice path, size_t name_at, struct ats_slice rest, unsigned flags,
    unsigned fault)
{
	struct chain c = { .n = 0 };
	bool known = true;
	size_t base = 0;

	for (; c.n < DIRS && (c.n == 0 || base > 0); c.n++) {
		struct ignore_dir *d = &c.d[c.n];
		struct ignore_rules **rules[KINDS] = { &d->git, &d->dot, &d->exclude,
			&d->user };
		const struct ask a = { { path.p + base, path.n - base }, name_at - base,
			(flags & IS_DIR) != 0 };
		const char *slash = memchr(path.p + base, '/', name_at - base);

		d->up = c.n > 0 ? d - 1 : NULL;
		d->base = base;
		d->repository = (flags & (REPOSITORY << c.n)) != 0;
		for (size_t k = 0; k < KINDS; k++)
			known &= make_rules(next_file(&rest), &a, flags, &fault, rules[k],
			    &c.says[c.n][k]);
		base = slash != NULL ? (size_t)(slash - path.p) + 1 : 0;
	}
	if (known)
		FUZZ_CHECK(ignore_decide(&c.d[c.n - 1], path.p, path.n, name_at,
			       (flags & IS_DIR) != 0) == chain_says(&c));
	for (size_t i = 0; i < c.n; i++)
		ignore_dir_done(&c.d[i]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in), flags = fuzz_byte(&in);
	struct ats_slice rest = fuzz_bytes(&in, in.n), path = rest;
	const char *nl = memchr(rest.p, '\n', rest.n);
	struct ats_buf again;
	size_t name_at = 0;

	path.n = nl != NULL ? (size_t)(nl - rest.p) : 0;
	if (size > 2048 || !reference_is_path(path))
		return 0;
	for (size_t i = 0; i < path.n; i++)
		if (path.p[i] == '/')
			name_at = i + 1;
	rest.p += path.n + 1;
	rest.n -= path.n + 1;
	ats_buf_init(&again, 1u << 20);
	for (int i = 0; (flags & REPEATED) != 0 && i < 100; i++)
		FUZZ_CHECK(ats_buf_add(&again, rest.p, rest.n) == 0);
	if (again.len > 0)
		rest = (struct ats_slice){ again.data, again.len };
	decide(path, name_at, rest, flags, fault);
	ats_buf_done(&again);
	return 0;
}
