/* SPDX-License-Identifier: Apache-2.0
 *
 * The relay directory: how a program that shares nothing but a directory with its host asks for
 * tools there. A request is the file ID.req.json, its answer ID.res.json; both appear whole, by a
 * rename from NAME.tmp.NONCE. Used by both sides, for whom the other's files are hostile: names
 * and texts are made and read here and nowhere else. Opens no file. */
#ifndef ATS_PROTO_RELAYDIR_H
#define ATS_PROTO_RELAYDIR_H

#include "common/json.h"

#define ATS_RELAYDIR_ID_MAX 120
#define ATS_RELAYDIR_NAME 160			/* room for any name, with its NUL */
#define ATS_RELAYDIR_TOOL_MAX 128		/* bytes of a tool's name */
#define ATS_RELAYDIR_REQUEST_MAX (1u << 20)	/* bytes of a request's file */
#define ATS_RELAYDIR_RESPONSE_MAX (4u << 20)	/* of an answer's */
/* How long an answer is waited for: the tool's own limit and some more, or without one. */
#define ATS_RELAYDIR_EXTRA_MS 10000u
#define ATS_RELAYDIR_WAIT_MS 60000u

/* ---- names ------------------------------------------------------------------------- */
enum ats_relaydir_kind {
	ATS_RELAYDIR_OTHER,		/* not ours to touch */
	ATS_RELAYDIR_REQUEST,
	ATS_RELAYDIR_RESPONSE,
	ATS_RELAYDIR_REQUEST_TEMP,
	ATS_RELAYDIR_RESPONSE_TEMP
};
/* The id in file names of a call's id: each UTF-16 unit outside of [A-Za-z0-9_-] is "_", 120 at
 * most, "tool" for an empty one. */
void ats_relaydir_id(const char *call_id, char ret_id[ATS_RELAYDIR_ID_MAX + 1]);
/* What a name in the directory is. ret_id: of a request or an answer; "" where it has none that
 * ats_relaydir_id could have made, or is a temporary. */
enum ats_relaydir_kind ats_relaydir_kind(const char *name,
    char ret_id[ATS_RELAYDIR_ID_MAX + 1]);
/* The name of a request or an answer. id is of ats_relaydir_id. */
void ats_relaydir_name(enum ats_relaydir_kind kind, const char *id,
    char ret_name[ATS_RELAYDIR_NAME]);
/* A fresh temporary one for it. -ATS_E_SYS without random bytes. */
ATS_NODISCARD int ats_relaydir_temp(enum ats_relaydir_kind kind, const char *id,
    char ret_name[ATS_RELAYDIR_NAME]);

/* ---- texts ------------------------------------------------------------------------- */
struct ats_relaydir_request {
	char tool[ATS_RELAYDIR_TOOL_MAX + 1];
	struct ats_slice args;	/* an object, borrowed from the text; p is NULL without one */
};
/* {"toolName":S,"toolCallId":S,"args":X}: strict JSON, those members, args an object, null or
 * absent. The id that counts is the file's: toolCallId is only looked at for its type. err never
 * holds a byte of the text. -ATS_E_JSON, -ATS_E_UTF8, -ATS_E_FIELD or -ATS_E_TOOBIG. */
ATS_NODISCARD int ats_relaydir_request_read(const char *text, size_t n,
    struct ats_relaydir_request *ret, struct ats_err *err);
/* Appends one, in this order of its members. args: scanned JSON; n == 0 is an empty object. */
ATS_NODISCARD int ats_relaydir_request_write(struct ats_buf *out, const char *tool,
    const char *call_id, struct ats_slice args);

enum ats_relaydir_answer {
	ATS_RELAYDIR_OK,	/* with a text */
	ATS_RELAYDIR_ERROR,	/* with one, why */
	ATS_RELAYDIR_PAUSED	/* somebody goes on with it elsewhere; without one */
};
/* {"ok":true,"text":S}, {"ok":false,"error":S} or {"ok":true,"paused":true}; paused counts
 * first, and members that are not known are left alone. ret_text: the string as JSON with its
 * quotes, borrowed; p is NULL where there is none. Errors as above. */
ATS_NODISCARD int ats_relaydir_response_read(const char *text, size_t n,
    enum ats_relaydir_answer *ret, struct ats_slice *ret_text, struct ats_err *err);
/* Appends one; text is any bytes. */
ATS_NODISCARD int ats_relaydir_response_write(struct ats_buf *out,
    enum ats_relaydir_answer answer, const char *text, size_t n);

#endif
