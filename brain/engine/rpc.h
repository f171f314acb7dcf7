/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON-RPC 2.0: the envelope, the table of methods, answers. */
#ifndef ATS_ENGINE_RPC_H
#define ATS_ENGINE_RPC_H

#include "brain/engine/door.h"
#include "common/json.h"

#define RPC_PARSE (-32700)
#define RPC_INVALID (-32600)
#define RPC_METHOD (-32601)
#define RPC_PARAMS (-32602)
#define RPC_INTERNAL (-32603)
#define RPC_OURS (-32000)

#define RPC_ID_MAX 256

struct rpc_envelope {			/* pointers into the line */
	struct ats_slice id;		/* raw; p == NULL: a notification */
	struct ats_slice method;	/* between the quotes, still escaped */
	struct ats_slice params;	/* raw object, or "{}" */
	bool response;			/* an answer to something: to be ignored */
};
/* Reads one scanned object. 0 or an RPC_* code with the reason in *ret_why; id is set as far
 * as it was found. Pure. */
ATS_NODISCARD int rpc_envelope_read(struct ats_slice line, struct rpc_envelope *ret,
    const char **ret_why);

struct rpc {
	struct engine *e;
	struct client *client;
	struct ats_slice id;		/* p == NULL: a notification */
	struct ats_slice params;
	bool modern;			/* of MCP from 2026-07-28 on (mcp_era.h) */
	struct ats_json_w w;		/* of the answer under way */
	size_t mark;
};
/* One line without its newline. Answers what must be; drops only what it must. */
void rpc_line(struct client *c, struct ats_slice line);

/* An answer: rpc_begin, members of "result" through what it returns (borrowed until rpc_end),
 * rpc_end. */
struct ats_json_w *rpc_begin(struct rpc *r);
void rpc_end(struct rpc *r);
void rpc_error(struct client *c, struct ats_slice id, int code, const char *fmt, ...)
    ATS_PRINTF(4, 5);
/* One of our own errors: -32000 with data.code, or -32602 for FIELD. MCP from 2026-07-28 on leaves
 * the codes from -32000 on to its own: -32603 with the same data. */
void rpc_fail(struct rpc *r, const struct ats_err *err);
/* An error with data: rpc_begin_error, members of "data" through w, rpc_end_error. */
struct ats_json_w *rpc_begin_error(struct rpc *r, int code, const char *text);
void rpc_end_error(struct rpc *r);

/* Writes the member "error" for one of our own errors into an answer. */
void rpc_error_write(struct ats_json_w *w, int code, const char *text, size_t n);

/* The parameters of a method, each at most once, others refused by -32602. */
enum rpc_param_type { RPC_STR, RPC_U64, RPC_BOOL, RPC_OBJECT, RPC_ARRAY };
struct rpc_param {
	const char *name;
	enum rpc_param_type type;
	bool required;
	size_t max;			/* STR: bytes with the NUL of dest; U64: value */
	void *dest;			/* char[max], uint64_t, bool, struct ats_slice */
};
/* Answers by itself and returns negative on a fault. What is absent leaves dest alone.
 * extra: unknown members are allowed (MCP's params). */
ATS_NODISCARD int rpc_params(struct rpc *r, const struct rpc_param *p, size_t n, bool extra);

/* Methods: one function each, by methods.def. */
#define METHOD(wire, fn, kind, params, doc) void fn(struct rpc *r);
#define MCP(wire, fn, kind, era, doc) void fn(struct rpc *r);
#include "brain/engine/methods.def"
#undef METHOD
#undef MCP

#endif
