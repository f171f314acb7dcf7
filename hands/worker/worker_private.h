/* SPDX-License-Identifier: Apache-2.0
 *
 * What worker.c (the job) and worker_answer.c (what came of it) share; nobody else includes
 * this. */
#ifndef ATS_HANDS_WORKER_WORKER_PRIVATE_H
#define ATS_HANDS_WORKER_WORKER_PRIVATE_H

#include "hands/tools/tool.h"
#include "hands/worker/job.h"
#include "hands/worker/worker.h"

#define WORKER_READS_MAX 64
#define WORKER_TEXT_MAX (3u << 20)

struct run {
	const struct zygote_child *z;
	int sock;
	struct job job;
	struct ats_msg_CALL_TOOL call;
	struct ats_CTX_IN ctx;
	struct tool_root roots[4];
	struct tool_read reads[WORKER_READS_MAX];
	struct tool_env env;
	struct tool_result result;
	struct ats_buf call_arena, ctx_arena, input_arena, reads_arena, json;
	union ats_tool_input_any input;
};

/* ---- worker_answer.c */
/* Sends r->result; run_us is how long the tool took. -ATS_E_TOOBIG, -ATS_E_NOMEM, ...: none was
 * sent; -ATS_E_EOF: front is gone. */
ATS_NODISCARD int worker_answer(struct run *r, uint64_t run_us);
/* For the tool's environment, whose ctx is the run: its give and its progress. */
int worker_give(void *ctx);
void worker_progress(void *ctx, const char *message, uint64_t done);

#endif
