/* SPDX-License-Identifier: Apache-2.0
 *
 * The forms that wait, made of those that do not. Process: an agent runtime. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "brain/client/client.h"

struct waiting {
	struct ats_answer *answer;	/* owned; NULL: no memory, or not yet */
	bool done;
};

/* One turn of a loop of its own. False: poll failed. */
static bool
turn(struct ats *a)
{
	struct pollfd p = { .fd = ats_fd(a), .events = POLLIN };

	if (poll(&p, 1, -1) < 0 && errno != EINTR)
		return false;
	(void)ats_process(a);
	return true;
}

int
ats_open(const struct ats_options *o, struct ats **ret)
{
	int rc = ats_start(o, ret);

	while (rc == 0 && ats_state(*ret) == 0)
		if (!turn(*ret))
			return ATS_ERR_SYSTEM;
	return rc == 0 && ats_state(*ret) < 0 ? ATS_ERR_OPEN : rc;
}

static const char *
copy(char **at, const char *from, size_t n)
{
	char *to = *at;

	if (from == NULL)
		return NULL;
	memcpy(to, from, n);
	to[n] = '\0';
	*at += n + 1;
	return to;
}

/* In one allocation. */
static struct ats_answer *
dup_answer(const struct ats_answer *from)
{
	size_t n = strlen(from->code) + from->text_len + from->result_len + from->ctx_delta_len;
	struct ats_answer *to = malloc(sizeof(*to) + n + 4);
	char *at;

	if (to == NULL)
		return NULL;
	*to = *from;
	at = (char *)(to + 1);
	to->code = copy(&at, from->code, strlen(from->code));
	to->text = copy(&at, from->text, from->text_len);
	to->result = copy(&at, from->result, from->result_len);
	to->ctx_delta = copy(&at, from->ctx_delta, from->ctx_delta_len);
	return to;
}

static void
on_done(void *arg, const struct ats_answer *answer)
{
	struct waiting *w = arg;

	w->answer = dup_answer(answer);
	w->done = true;
}

typedef int send_fn(struct ats *a, const struct ats_request *q, ats_done_fn *done, void *arg,
    uint64_t *ret_call);

static int
run(send_fn *send, struct ats *a, const struct ats_request *q, struct ats_answer **ret)
{
	struct waiting *w;
	int rc;

	if (a->working)
		return ATS_ERR_ARG;	/* its answer could not come while this one is given */
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return ATS_ERR_MEMORY;
	rc = send(a, q, on_done, w, NULL);
	while (rc == 0 && !w->done)
		if (!turn(a))
			return ATS_ERR_SYSTEM;	/* w is the call's until ats_close */
	if (rc == 0 && w->answer == NULL)
		rc = ATS_ERR_MEMORY;
	if (rc == 0) {
		*ret = w->answer;
		rc = (int)w->answer->end;
	}
	free(w);
	return rc;
}

int
ats_tool(struct ats *a, const struct ats_request *q, struct ats_answer **ret)
{
	return run(ats_send_tool, a, q, ret);
}

int
ats_validate(struct ats *a, const struct ats_request *q, struct ats_answer **ret)
{
	return run(ats_send_validate, a, q, ret);
}

int
ats_hook(struct ats *a, const struct ats_request *q, struct ats_answer **ret)
{
	return run(ats_send_hook, a, q, ret);
}

void
ats_answer_free(struct ats_answer *answer)
{
	free(answer);
}
