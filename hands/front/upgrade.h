/* SPDX-License-Identifier: Apache-2.0
 *
 * Another file takes the place of front, and nothing that runs notices. The old front has init
 * start the new one, waits until what is under way can be moved, hands all over (record.h), and
 * ends when the new one has it. Until that it can go on as if nothing had happened, since the new
 * one touches nothing before the old one has ended: the end of the socket between them is the
 * word. */
#ifndef ATS_HANDS_FRONT_UPGRADE_H
#define ATS_HANDS_FRONT_UPGRADE_H

#include "common/err.h"

struct front;
struct init_msg;
struct upgrade;

#define UPGRADE_START_MS 5000u	/* for the new front to be there; and to take over */
#define UPGRADE_LEAVE_MS 2000u	/* calls that brain can send again have so long to end */
#define UPGRADE_WAIT_MS 10000u	/* and others */

struct upgrade *upgrade_new(struct front *f);	/* returns owned or NULL */
void upgrade_free(struct upgrade *u);		/* a new front that was begun with ends */
/* Brain's wish. It is answered by a control.unchanged, or by a goodbye. */
void upgrade_ask(struct front *f);
/* What init says of it; fd is taken. */
void upgrade_on_init(struct front *f, const struct init_msg *m, int fd);
/* Something has ended or started that it may wait for. Cheap. */
void upgrade_poke(struct front *f);

/* ---- takeover.c */
/* The other side: takes sock, fills f's parts from what comes, and returns when the old front has
 * ended. The process ends in it when that goes on, and when it cannot be. */
void takeover(struct front *f, int sock, int spill);
/* Its part that reads: greets, and fills f from the records. Negative with r->err; f's parts are
 * there as far as they were told. */
struct records;
ATS_NODISCARD int takeover_take(struct front *f, int spill, struct records *r);
/* The id of the build of this program, or "". Valid for ever. */
const char *upgrade_build(void);

#endif
