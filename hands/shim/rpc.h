/* SPDX-License-Identifier: Apache-2.0
 *
 * What a line of JSON-RPC 2.0 is. Knows no method and answers nothing. */
#ifndef ATS_HANDS_SHIM_RPC_H
#define ATS_HANDS_SHIM_RPC_H

#include "common/json.h"

enum rpc_kind {
	RPC_REQUEST,
	RPC_NOTIFICATION,
	RPC_RESPONSE,	/* to a request of ours: there is none */
	RPC_WRONG	/* code and text are to be answered */
};
#define RPC_METHOD 128
struct rpc {
	enum rpc_kind kind;
	struct ats_slice id;		/* JSON: a string or a number, or "null": unknown */
	char method[RPC_METHOD + 1];	/* a longer one is none that there is: "" */
	struct ats_slice params;	/* an object; p is NULL without */
	int code;
	const char *text;
};
#define RPC_PARSE (-32700)
#define RPC_INVALID (-32600)
#define RPC_NO_METHOD (-32601)
#define RPC_PARAMS (-32602)

/* Strict JSON. Slices are borrowed from the line. */
void rpc_read(const char *line, size_t n, struct rpc *ret);

#endif
