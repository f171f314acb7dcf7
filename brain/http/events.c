/* SPDX-License-Identifier: Apache-2.0
 *
 * Events that may be asked for again. Runs in ats-http. */
#include "brain/http/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kept {
	TAILQ_ENTRY(kept) link;
	uint64_t stream, number;
	size_t n;
	char data[];
};

void
events_init(struct events *e)
{
	TAILQ_INIT(&e->list);
	e->n = e->bytes = 0;
}

static void
forget_first(struct events *e)
{
	struct kept *k = TAILQ_FIRST(&e->list);

	TAILQ_REMOVE(&e->list, k, link);
	e->n--;
	e->bytes -= k->n;
	free(k);
}

bool
events_forget(struct events *e)
{
	if (e->n == 0)
		return false;
	forget_first(e);
	return true;
}

void
events_done(struct events *e)
{
	while (e->n > 0)
		forget_first(e);
}

void
events_id(uint64_t stream, uint64_t number, char ret[EVENTS_ID])
{
	(void)snprintf(ret, EVENTS_ID, "%" PRIx64 "-%" PRIx64, stream, number);
}

/* Up to 16 digits. */
static const char *
read_hex(const char *p, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	const char *at, *begin = p;

	*ret = 0;
	for (; p - begin < 16 && *p != '\0' && (at = strchr(digits, *p)) != NULL; p++)
		*ret = *ret << 4 | (uint64_t)(at - digits);
	return p > begin ? p : NULL;
}

int
events_id_read(const char *id, uint64_t *ret_stream, uint64_t *ret_number)
{
	const char *p = read_hex(id, ret_stream);

	if (p == NULL || *p != '-' || (p = read_hex(p + 1, ret_number)) == NULL || *p != '\0')
		return -ATS_E_INVAL;
	return 0;
}

void
events_keep(struct events *e, uint64_t stream, uint64_t number, const char *data, size_t n)
{
	struct kept *k = n > HTTP_EVENTS_BYTES ? NULL : malloc(sizeof(*k) + n);

	if (k == NULL)
		return;
	while (e->n > 0 && (e->n == HTTP_EVENTS || e->bytes + n > HTTP_EVENTS_BYTES))
		forget_first(e);
	*k = (struct kept){ .stream = stream, .number = number, .n = n };
	memcpy(k->data, data, n);
	TAILQ_INSERT_TAIL(&e->list, k, link);
	e->n++;
	e->bytes += n;
}

bool
events_have(const struct events *e, uint64_t stream)
{
	const struct kept *k;

	TAILQ_FOREACH(k, &e->list, link)
		if (k->stream == stream)
			return true;
	return false;
}

void
events_after(const struct events *e, uint64_t stream, uint64_t number,
    void (*one)(void *ctx, uint64_t number, const char *data, size_t n), void *ctx)
{
	const struct kept *k;

	TAILQ_FOREACH(k, &e->list, link)
		if (k->stream == stream && k->number > number)
			one(ctx, k->number, k->data, k->n);
}
