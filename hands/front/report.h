/* SPDX-License-Identifier: Apache-2.0
 *
 * What the confinement of this sandbox is, proven by a self-test in real workers before
 * the first call is taken. */
#ifndef ATS_HANDS_FRONT_REPORT_H
#define ATS_HANDS_FRONT_REPORT_H

#include "common/buf.h"

struct front;
struct report;

#define REPORT_MAX 8192u /* of the JSON, see READY.confinement */
/* A worker that is not heard of by then has failed: less than brain waits for a start. */
#define REPORT_MS 10000u

struct report *front_report_new(struct front *f); /* returns owned or NULL */
void front_report_free(struct report *r);
/* Asks for the tests; when all have ended link_report_ready is called, or front_refuse. */
void front_report_start(struct report *r);
/* The tests were made, for another front, and this is the vector. -ATS_E_TOOBIG, -ATS_E_JSON,
 * -ATS_E_NOMEM. */
ATS_NODISCARD int front_report_restore(struct report *r, struct ats_slice json);
/* The verified vector as JSON, after link_report_ready; valid until front_report_free. */
struct ats_slice front_report_json(const struct report *r);
/* Whether the workspace had settings then that may name hooks; unsure after a restore: yes. */
bool front_report_hooks(const struct report *r);

#endif
