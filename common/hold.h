/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a stream that were sent and may be asked for again, and behind them those that
 * are still to be sent: a ring that grows with what is in it, up to its maximum. Positions are
 * those of the stream. */
#ifndef ATS_COMMON_HOLD_H
#define ATS_COMMON_HOLD_H

#include <stddef.h>
#include <stdint.h>

struct ats_hold {
	uint64_t base;	/* position of the first byte held */
	size_t len, max;
	char *ring;	/* private, with the rest */
	size_t cap, at;
};

void ats_hold_init(struct ats_hold *h, size_t max_bytes);	/* allocates nothing */
void ats_hold_done(struct ats_hold *h);
/* The position behind the last byte. */
uint64_t ats_hold_end(const struct ats_hold *h);
/* Where up to want further bytes can be put: returns how many, in one run, which may be fewer
 * than there is room for. 0: it is full, or there is no memory. Valid until the next call. */
size_t ats_hold_room(struct ats_hold *h, size_t want, char **ret_p);
void ats_hold_commit(struct ats_hold *h, size_t n);	/* so many were put there */
/* The bytes from pos on, in one run (borrowed until the next room or drop), of which there may
 * be more behind it. 0: none is held. */
size_t ats_hold_at(const struct ats_hold *h, uint64_t pos, const char **ret_p);
/* Forgets what is before pos, which may be behind the end; before the base it does nothing. */
void ats_hold_drop(struct ats_hold *h, uint64_t pos);

#endif
