/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of record.def on the socket between a front and the one that takes its place: a
 * datagram with the head, the fields as JSON and the descriptors, then the payload in more of
 * them. Whoever is at the other end may be another version of us, or no front at all: what is
 * not in the table, or more than it says, is refused. */
#ifndef ATS_HANDS_FRONT_RECORD_H
#define ATS_HANDS_FRONT_RECORD_H

#include <stdint.h>

#include "common/fd.h"
#include "proto/msg.h"

#define RECORD_FORMAT 1u

enum record_part { RECORD_NO_PART, RECORD_BASH, RECORD_EXEC, RECORD_TASK };
enum record_id {
#define RECORD(name, wire, nfds, payload, doc) RECORD_ID_##name,
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#include "hands/front/record.def"
#undef RECORD
#undef FIELD
#undef END
	RECORD_COUNT
};
#define RECORD(name, wire, nfds, payload, doc) struct record_##name { uint8_t unused;
#define FIELD(frame, member, type, req, max, doc) ATS_MEMBER_##type(member)
#define END(name) };
#include "hands/front/record.def"
#undef RECORD
#undef FIELD
#undef END
union record_any {
#define RECORD(name, wire, nfds, payload, doc) struct record_##name name;
#define FIELD(frame, member, type, req, max, doc)
#define END(name)
#include "hands/front/record.def"
#undef RECORD
#undef FIELD
#undef END
};

struct records {
	int sock;		/* SEQPACKET, non-blocking; borrowed */
	uint64_t until_us;	/* nothing is waited for longer, monotonic */
	struct ats_err err;	/* why the last one failed */
	/* The last one that came. */
	enum record_id id;
	struct ats_buf json, arena, payload;
	int fds[ATS_FD_PASS_MAX];	/* owned until record_fd takes them */
	size_t nfds, taken;
};

void records_init(struct records *r, int sock, uint64_t ms);
void records_done(struct records *r);
/* Sends one; msg is its struct, parts (borrowed, nparts of them) the payload, fds are borrowed.
 * 0, or negative with r->err. */
ATS_NODISCARD int record_send(struct records *r, enum record_id id, const void *msg,
    const struct ats_slice *parts, size_t nparts, const int *fds, size_t nfds);
/* Waits for one, of any kind (r->id); ret is zeroed first. Texts in it and r->payload are valid
 * until the next. 0; -ATS_E_EOF: the other end is gone; others with r->err. */
ATS_NODISCARD int record_any(struct records *r, union record_any *ret);
/* The same, which must be of this kind. A STOP is -ATS_E_CANCELLED. */
ATS_NODISCARD int record_next(struct records *r, enum record_id id, union record_any *ret);
/* The next descriptor of the last one that came (owned, non-blocking), if wanted; else -1. Call
 * for each flag in its order. */
int record_fd(struct records *r, bool wanted);
/* Whether so many came with it. */
bool record_has_fds(const struct records *r, unsigned n);
/* Sets r->err: a record contradicts itself. */
int record_wrong(struct records *r, const char *what);

#endif
