/* SPDX-License-Identifier: Apache-2.0
 *
 * The fixed header of a frame, and nothing of what frames mean. Big-endian, 20 bytes:
 *   u32 length (of the whole frame, header included)   u8 type   u8 kind   u16 zero
 *   u64 call id   u32 json length      then json, then payload. */
#ifndef ATS_COMMON_FRAME_H
#define ATS_COMMON_FRAME_H

#include <stdint.h>

#include "common/buf.h"

#define ATS_FRAME_HEAD 20u
#define ATS_FRAME_MAX (20u << 20)	/* no frame is ever larger */

struct ats_frame_head {
	uint32_t len;
	uint8_t type;
	uint8_t kind;
	uint64_t call;
	uint32_t json_len;
	uint32_t payload_len;	/* derived: len - 20 - json_len */
};

struct ats_frame {
	struct ats_frame_head head;
	const char *json;	/* borrowed, valid during the callback */
	const char *payload;	/* borrowed; may be shorter than head.payload_len when  */
	size_t payload_n;	/* ... the first bytes were spliced away */
};

/* payload_len is not written: it follows from the two others. */
void ats_frame_head_put(
    const struct ats_frame_head *h, unsigned char out[ATS_FRAME_HEAD]);
/* -ATS_E_PROTO (lengths that contradict, reserved bits), -ATS_E_TOOBIG, or 0. */
ATS_NODISCARD int ats_frame_head_get(const unsigned char in[ATS_FRAME_HEAD],
    struct ats_frame_head *ret, struct ats_err *err);

#endif
