/* SPDX-License-Identifier: Apache-2.0
 *
 * Collecting. Content comes in path order: as soon as the files that come first hold enough
 * lines, nothing behind the last of them is kept or searched. Runs in read workers. */
#include "hands/match/report_private.h"

#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "hands/match/walk.h"

#define SLACK 1024u		/* files over what is wanted before the rest is dropped */
#define FILES_MAX 400000u	/* kept at all; their names would fill any result */

struct report *
report_new(const struct report_options *o)
{
	struct report *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->o = *o;
	r->trim_at = 2 * o->max_bytes;
	walk_lock_init(&r->lock);
	r->want = o->limit == 0 || o->limit > UINT64_MAX - o->offset - 1 ? UINT64_MAX :
	    o->offset + o->limit + 1;
	return r;
}

static void
item_free(struct report_item *i)
{
	if (i == NULL)
		return;
	free(i->path);
	free(i->text);
	free(i);
}

static void
names_done(struct report_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->paths[i]);
}

void
report_free(struct report *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->n; i++)
		item_free(r->items[i]);
	free(r->items);
	names_done(&r->unreadable);
	names_done(&r->steps);
	names_done(&r->cut);
	names_done(&r->binary);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

/* Keeps the first names in path order, whoever comes first. */
static void
names_add(struct report_names *names, const char *path, size_t n, int error)
{
	size_t at = names->n;
	char *copy;

	names->count++;
	while (at > 0 && walk_path_cmp(path, n, names->paths[at - 1],
	    strlen(names->paths[at - 1])) < 0)
		at--;
	if (at == REPORT_NAMED)
		return;
	copy = strndup(path, n);
	if (copy == NULL)
		return;
	if (names->n == REPORT_NAMED)
		free(names->paths[--names->n]);
	memmove(&names->paths[at + 1], &names->paths[at], (names->n - at) * sizeof(copy));
	memmove(&names->errors[at + 1], &names->errors[at], (names->n - at) * sizeof(error));
	names->paths[at] = copy;
	names->errors[at] = error;
	names->n++;
}

static int
by_path(const void *a, const void *b)
{
	const struct report_item *const *x = a, *const *y = b;

	return walk_path_cmp((*x)->path, (*x)->path_len, (*y)->path, (*y)->path_len);
}

static int
by_age(const void *a, const void *b)
{
	const struct report_item *const *x = a, *const *y = b;

	if ((*x)->mtime_ns != (*y)->mtime_ns)
		return (*x)->mtime_ns > (*y)->mtime_ns ? -1 : 1;
	return by_path(a, b);
}

void
report_sort(struct report *r)
{
	if (r->n > 1)
		qsort(r->items, r->n, sizeof(struct report_item *),
		    r->o.mode == SEARCH_FILES ? by_age : by_path);
}

static int
make_room(struct report *r)
{
	size_t cap = r->cap != 0 ? r->cap * 2 : 64;
	struct report_item **items;

	if (r->n < r->cap)
		return 0;
	items = realloc(r->items, cap * sizeof(struct report_item *));
	if (items == NULL)
		return -ATS_E_NOMEM;
	r->items = items;
	r->cap = cap;
	return 0;
}

/* ---- content ------------------------------------------------------------------------------ */
static uint64_t
cost_lines(const struct report *r, const struct report_item *i)
{
	return (i->hit.binary ? 1 : i->hit.lines) + (r->o.context ? 1 : 0);
}

static uint64_t
cost_bytes(const struct report_item *i)
{
	return i->text_len + i->path_len;
}

static bool
enough(const struct report *r, uint64_t lines, uint64_t bytes)
{
	/* Before the first file stands no separator. */
	lines -= r->o.context && lines > 0;
	return (r->want != UINT64_MAX && lines >= r->want) || bytes >= r->o.max_bytes;
}

static void
insert_by_path(struct report *r, struct report_item *item)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_path(&r->items[mid], &item) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	memmove(&r->items[low + 1], &r->items[low],
	    (r->n - low) * sizeof(struct report_item *));
	r->items[low] = item;
	r->n++;
	r->lines += cost_lines(r, item);
	r->bytes += cost_bytes(item);
	while (r->n > 1) {
		struct report_item *last = r->items[r->n - 1];
		uint64_t lines = r->lines - cost_lines(r, last);
		uint64_t bytes = r->bytes - cost_bytes(last);

		if (!enough(r, lines, bytes))
			break;
		r->lines = lines;
		r->bytes = bytes;
		item_free(last);
		r->n--;
	}
	if (enough(r, r->lines, r->bytes))
		__atomic_store_n(&r->full, true, __ATOMIC_RELEASE);
}

bool
report_past(struct report *r, const char *path, size_t n)
{
	const struct report_item *last;
	bool past;

	if (!__atomic_load_n(&r->full, __ATOMIC_ACQUIRE))
		return false;
	(void)pthread_mutex_lock(&r->lock);
	last = r->items[r->n - 1];
	past = walk_path_cmp(path, n, last->path, last->path_len) > 0;
	(void)pthread_mutex_unlock(&r->lock);
	return past;
}

/* ---- adding ---------------------------------------------------------------------------------- */
/* The least that an item takes of the result: its path from cwd, and a newline. */
static uint64_t
shown_bytes(const struct report *r, const struct report_item *i)
{
	const char *below = ats_path_below(r->o.root, r->o.cwd);
	size_t n = below != NULL ? strlen(below) : 0;

	if (n > 0 && i->path_len > n && memcmp(i->path, below, n) == 0 && i->path[n] == '/')
		return i->path_len - n;
	return i->path_len + 1;
}

/* Drops what cannot be shown: behind the wanted number, and behind a full result. */
static void
trim(struct report *r, uint64_t keep)
{
	uint64_t bytes = 0, room = 0;
	size_t n = 0;

	report_sort(r);
	for (; n < r->n && n < keep && room <= r->o.max_bytes; n++) {
		bytes += shown_bytes(r, r->items[n]);
		room += n >= r->o.offset ? shown_bytes(r, r->items[n]) : 0;
	}
	if (r->n > n)
		r->last = n > 0 ? r->items[n - 1] : NULL;
	while (r->n > n)
		item_free(r->items[--r->n]);
	r->bytes = bytes;
	r->trim_at = 2 * (bytes > r->o.max_bytes ? bytes : r->o.max_bytes);
}

static void
insert(struct report *r, struct report_item *item)
{
	uint64_t keep = r->want < FILES_MAX ? r->want : FILES_MAX;

	if (r->o.mode == SEARCH_CONTENT) {
		insert_by_path(r, item);
		return;
	}
	r->items[r->n++] = item;
	r->bytes += shown_bytes(r, item);
	if (r->n >= 2 * keep + SLACK || r->bytes > r->trim_at)
		trim(r, keep);
}

/* Whether the file would be the next to be dropped: then it is only counted. Most files of a
 * large tree are, and cost no memory. */
static bool
counted_only(struct report *r, const char *path, size_t n, uint64_t mtime_ns,
    const struct search_hit *hit)
{
	const struct report_item *last;
	bool behind;

	(void)pthread_mutex_lock(&r->lock);
	last = r->last;
	behind = last != NULL && (r->o.mode == SEARCH_FILES && mtime_ns != last->mtime_ns ?
	    mtime_ns < last->mtime_ns : walk_path_cmp(path, n, last->path, last->path_len) > 0);
	if (behind) {
		r->files++;
		r->matches += hit->matches;
	}
	(void)pthread_mutex_unlock(&r->lock);
	return behind;
}

static struct report_item *
item_new(const char *path, size_t n, uint64_t mtime_ns, const struct search_hit *hit,
    const struct ats_buf *text)
{
	struct report_item *i = calloc(1, sizeof(*i));

	if (i == NULL)
		return NULL;
	i->path = strndup(path, n);
	i->path_len = n;
	i->mtime_ns = mtime_ns;
	i->hit = *hit;
	if (text != NULL && text->len > 0) {
		i->text = malloc(text->len);
		if (i->text != NULL)
			memcpy(i->text, text->data, text->len);
		i->text_len = text->len;
	}
	if (i->path == NULL || (i->text_len > 0 && i->text == NULL)) {
		item_free(i);
		return NULL;
	}
	return i;
}

int
report_add(struct report *r, const char *path, size_t n, uint64_t mtime_ns,
    const struct search_hit *hit, const struct ats_buf *text)
{
	struct report_item *item = NULL;
	int rc = 0;

	if (r->o.mode != SEARCH_CONTENT && !hit->steps && !hit->cut && !hit->binary &&
	    hit->matches > 0 && counted_only(r, path, n, mtime_ns, hit))
		return 0;
	if (hit->matches > 0) {
		item = item_new(path, n, mtime_ns, hit, text);
		if (item == NULL)
			return -ATS_E_NOMEM;
	}
	(void)pthread_mutex_lock(&r->lock);
	if (hit->steps)
		names_add(&r->steps, path, n, 0);
	else if (hit->cut)
		names_add(&r->cut, path, n, 0);
	if (hit->matches > 0 && hit->binary && r->o.mode == SEARCH_COUNT) {
		names_add(&r->binary, path, n, 0);
	} else if (item != NULL) {
		rc = make_room(r);
		r->files++;
		r->matches += hit->matches;
		if (rc == 0) {
			insert(r, item);
			item = NULL;
		}
	}
	(void)pthread_mutex_unlock(&r->lock);
	item_free(item);
	return rc;
}

void
report_warn(struct report *r, const char *path, size_t n, int error)
{
	(void)pthread_mutex_lock(&r->lock);
	names_add(&r->unreadable, path, n, error);
	(void)pthread_mutex_unlock(&r->lock);
}
