/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of requests. Runs in the engine; ids and their number are a client's choice.
 * Invariant: a batch is in the list while it is open or waits for an answer. */
#include "brain/engine/batch.h"

#include <stdlib.h>
#include <string.h>

#include "brain/engine/door.h"

struct expected {
	TAILQ_ENTRY(expected) link;
	size_t n;
	char id[];
};
struct batch {
	TAILQ_ENTRY(batch) link;
	TAILQ_HEAD(, expected) expected;
	struct ats_buf answers;		/* "[", answers divided by commas */
	bool open;
};

static struct batch *
open_batch(struct client *c)
{
	struct batch *b = TAILQ_LAST(&c->batches, batch_list);

	return b != NULL && b->open ? b : NULL;
}

static void
forget(struct client *c, struct batch *b, struct expected *x)
{
	TAILQ_REMOVE(&b->expected, x, link);
	c->nbatched--;
	free(x);
}

static void
batch_free(struct client *c, struct batch *b)
{
	struct expected *x;

	while ((x = TAILQ_FIRST(&b->expected)) != NULL)
		forget(c, b, x);
	TAILQ_REMOVE(&c->batches, b, link);
	ats_buf_done(&b->answers);
	free(b);
}

/* Nothing is written for a batch of notifications only. */
static void
finish_if_whole(struct client *c, struct batch *b)
{
	int rc = 0;

	if (b->open || !TAILQ_EMPTY(&b->expected))
		return;
	if (b->answers.len > 1 && !c->dead) {
		rc = ats_buf_add(&c->out, b->answers.data, b->answers.len);
		if (rc == 0)
			rc = ats_buf_add_str(&c->out, "]\n");
	}
	batch_free(c, b);
	if (rc < 0)
		client_drop(c, "no room for an answer");
	else
		client_flush(c);
}

int
batch_open(struct client *c)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return -ATS_E_NOMEM;
	TAILQ_INIT(&b->expected);
	ats_buf_init(&b->answers, c->out.max);
	b->open = true;
	TAILQ_INSERT_TAIL(&c->batches, b, link);
	if (ats_buf_add_char(&b->answers, '[') < 0) {
		batch_free(c, b);
		return -ATS_E_NOMEM;
	}
	return 0;
}

int
batch_expect(struct client *c, struct ats_slice id)
{
	struct batch *b = open_batch(c);
	struct expected *x;

	if (b == NULL)
		return 0;
	if (c->nbatched >= BATCH_REQUESTS_MAX)
		return -ATS_E_FULL;
	x = malloc(sizeof(*x) + id.n);
	if (x == NULL)
		return -ATS_E_NOMEM;
	x->n = id.n;
	memcpy(x->id, id.p, id.n);
	TAILQ_INSERT_TAIL(&b->expected, x, link);
	c->nbatched++;
	return 0;
}

void
batch_close(struct client *c)
{
	struct batch *b = open_batch(c);

	if (b == NULL)
		return;
	b->open = false;
	finish_if_whole(c, b);
}

/* The batch that waits for id; *ret_x is its entry. */
static struct batch *
find(struct client *c, struct ats_slice id, struct expected **ret_x)
{
	struct batch *b;
	struct expected *x;

	TAILQ_FOREACH(b, &c->batches, link)
		TAILQ_FOREACH(x, &b->expected, link)
			if (x->n == id.n && memcmp(x->id, id.p, id.n) == 0) {
				*ret_x = x;
				return b;
			}
	return NULL;
}

void
batch_answered(struct client *c, struct ats_slice id, size_t mark)
{
	struct expected *x = NULL;
	struct batch *b;
	int rc = 0;

	if (TAILQ_EMPTY(&c->batches))
		return;
	/* An answer to nobody (id null) can only be about what is being read. */
	b = id.p == NULL ? open_batch(c) : find(c, id, &x);
	if (b == NULL)
		return;
	if (b->answers.len > 1)
		rc = ats_buf_add_char(&b->answers, ',');
	if (rc == 0)
		rc = ats_buf_add(&b->answers, c->out.data + mark, c->out.len - mark - 1);
	ats_buf_truncate(&c->out, mark);
	if (x != NULL)
		forget(c, b, x);
	if (rc < 0) {
		client_drop(c, "no room for an answer");
		return;
	}
	finish_if_whole(c, b);
}

void
batch_skip(struct client *c, struct ats_slice id)
{
	struct expected *x;
	struct batch *b = find(c, id, &x);

	if (b == NULL)
		return;
	forget(c, b, x);
	finish_if_whole(c, b);
}

void
batch_drop_all(struct client *c)
{
	struct batch *b;

	while ((b = TAILQ_FIRST(&c->batches)) != NULL)
		batch_free(c, b);
}
