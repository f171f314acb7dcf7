/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of an engine before this one: sent, without an answer in the journal. */
#ifndef ATS_ENGINE_CALL_RESUME_H
#define ATS_ENGINE_CALL_RESUME_H

#include "common/err.h"

struct call;
struct calls;
struct sandbox;

/* Loads what the journal has open, after start. */
ATS_NODISCARD int calls_resume(struct calls *t, struct ats_err *err);
/* The vault has said which sandboxes are alive: calls of the others are lost. */
void calls_resume_settle(struct calls *t);
/* The next resumed call of this sandbox after this one (NULL: the first). */
struct call *calls_resumed_next(struct calls *t, const struct sandbox *box,
    const struct call *after);
/* The sandbox it was sent to is gone: a call that must not run twice is unknown; one that
 * can be checked waits to be asked again, with its input. c may be gone after it. */
void call_resumed_lost(struct call *c);
/* It had only been asked about: it goes on if somebody asked again, else it ends. */
void call_resumed_asked(struct call *c);
/* It was never received: it runs if somebody asked again, else it is forgotten. */
void call_resumed_unsent(struct call *c);

#endif
