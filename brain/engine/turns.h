/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of one session that name the same file take turns, in the order in which they were
 * asked, when one of them writes it: the second is sent with what the first made of the
 * file, so that edits which an agent asks for at once are a chain. For each such file there
 * is a lock with a queue; reads share it. What a step costs does not grow with the calls
 * that wait. */
#ifndef ATS_ENGINE_TURNS_H
#define ATS_ENGINE_TURNS_H

#include "brain/engine/call.h"

/* The file that the call names, as its session stands now, where that is, and its time limit;
 * call it before it is sent. Once: inputs are large. */
void turns_look_at_input(struct call *c);
/* Whether it is the call's turn, which it then has until turns_leave. Else it waits
 * (c->waits_turn, counted in its sandbox's nqueue) until dispatch_ready. Out of memory the call
 * has its turn: the hashes in its context still keep a change from being lost. */
bool turns_take(struct call *c);
/* A call of an earlier engine, which may run: its turn, before anything is asked. */
void turns_resume(struct call *c);
/* Its turn, or its place in the queue, is over. Others may become ready. */
void turns_leave(struct call *c);

#endif
