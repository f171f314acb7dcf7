/* SPDX-License-Identifier: Apache-2.0
 *
 * The fixed frame header. Runs in the engine and in hands' front; the peer controls every
 * bit of what _get reads. */
#include "common/frame.h"

static void
put32(unsigned char *p, uint32_t v)
{
	p[0] = (unsigned char)(v >> 24);
	p[1] = (unsigned char)(v >> 16);
	p[2] = (unsigned char)(v >> 8);
	p[3] = (unsigned char)v;
}

static uint32_t
get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

void
ats_frame_head_put(const struct ats_frame_head *h, unsigned char out[ATS_FRAME_HEAD])
{
	put32(out, h->len);
	out[4] = h->type;
	out[5] = h->kind;
	out[6] = out[7] = 0;
	put32(out + 8, (uint32_t)(h->call >> 32));
	put32(out + 12, (uint32_t)h->call);
	put32(out + 16, h->json_len);
}

int
ats_frame_head_get(const unsigned char in[ATS_FRAME_HEAD], struct ats_frame_head *ret,
    struct ats_err *err)
{
	uint32_t len = get32(in), json_len = get32(in + 16);

	if (len > ATS_FRAME_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "frame of %u bytes, at most %u",
		    len, ATS_FRAME_MAX);
	if (len < ATS_FRAME_HEAD)
		return ats_err_set(
		    err, ATS_E_PROTO, "frame length %u is below the header's", len);
	if (in[6] != 0 || in[7] != 0)
		return ats_err_set(err, ATS_E_PROTO, "reserved bits of a frame are set");
	if (json_len > len - ATS_FRAME_HEAD)
		return ats_err_set(err, ATS_E_PROTO, "JSON of %u bytes in a frame of %u",
		    json_len, len);
	*ret = (struct ats_frame_head){
		.len = len,
		.type = in[4],
		.kind = in[5],
		.call = (uint64_t)get32(in + 8) << 32 | get32(in + 12),
		.json_len = json_len,
		.payload_len = len - ATS_FRAME_HEAD - json_len,
	};
	return 0;
}
