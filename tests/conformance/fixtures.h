/* SPDX-License-Identifier: Apache-2.0
 *
 * Tools that the MCP conformance suite wants a server to have, in an engine that is built for
 * that run only: the linker puts the __wrap_ functions of wrap.c before those of the engine. So
 * HTTP, sessions, envelopes, lists and notifications are what is shipped, and only what these
 * tools answer is not. */
#ifndef ATS_TESTS_CONFORMANCE_FIXTURES_H
#define ATS_TESTS_CONFORMANCE_FIXTURES_H

#include "brain/engine/engine.h"
#include "brain/engine/rpc.h"

#define FIXTURE_SLOW_MS 15200		/* over what ats-http waits before it begins a stream */
#define FIXTURE_STEP_MS 50		/* what the suite wants between two messages of a tool */

struct fixture {
	const char *name, *description, *schema;
	void (*call)(const struct fixture *f, struct rpc *r);
	const char *text;		/* content of the answer, raw JSON; see call */
};
/* NULL: there is none of that name (raw JSON string). */
const struct fixture *fixture_find(struct ats_slice name);
const struct fixture *fixtures_each(const struct fixture *after);

/* The answer: content is the text of a JSON array. */
void fixture_answer(struct rpc *r, const char *content, bool is_error);
/* Whether the client of a request of 2026-07-28 has declared the capability. */
bool fixture_may(const struct rpc *r, const char *capability);

/* rounds.c: multi round-trip requests (2026-07-28) */
void fixture_rounds(const struct fixture *f, struct rpc *r);
/* jobs.c: tools that say something before they answer */
void fixture_progress(const struct fixture *f, struct rpc *r);
void fixture_log(const struct fixture *f, struct rpc *r);
/* Answers after so long that the answer comes as a stream. */
void fixture_slow(const struct fixture *f, struct rpc *r);
/* Asks the client elicitation/create with f->text as its schema (to 2025-11-25). */
void fixture_elicit(const struct fixture *f, struct rpc *r);
/* A client's answer to what was asked; false: it is to nothing of ours. */
bool fixture_answered(struct client *c, struct ats_slice line);
void fixtures_client_gone(struct client *c);

#endif
