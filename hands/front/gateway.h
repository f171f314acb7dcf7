/* SPDX-License-Identifier: Apache-2.0
 *
 * Tools of the host for programs in the sandbox: what they ask on the relay socket goes to brain
 * under ids and keys of front's own, and its answers go back. A lost link ends no call: after the
 * next ready the same keys are sent again. All functions take a NULL. */
#ifndef ATS_HANDS_FRONT_GATEWAY_H
#define ATS_HANDS_FRONT_GATEWAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/frame.h"

struct front;
struct gateway;

/* Takes the listening socket, -1 for none. Returns owned or NULL (no memory). */
struct gateway *gateway_new(struct front *f, int listen_fd);
/* Whoever still waits is told that brain did not come back. */
void gateway_free(struct gateway *g);
/* Nobody waits for an answer. */
bool gateway_is_idle(const struct gateway *g);
/* Ids given so far: the next front goes on from there, for brain knows calls by them. */
uint64_t gateway_ids(const struct gateway *g);
/* READY has been sent: what has no answer is asked again. */
void gateway_on_ready(struct gateway *g);
/* Frames of brain. Negative: it broke a rule. */
ATS_NODISCARD int gateway_on_tools(struct gateway *g, const struct ats_frame *fr,
    struct ats_err *err);
ATS_NODISCARD int gateway_on_result(struct gateway *g, const struct ats_frame *fr,
    struct ats_err *err);
ATS_NODISCARD int gateway_on_progress(struct gateway *g, const struct ats_frame *fr,
    struct ats_err *err);

#endif
