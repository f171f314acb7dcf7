/* SPDX-License-Identifier: Apache-2.0
 *
 * Read and write workers. The job was checked by front, but what is in it is a model's
 * doing: it is decoded strictly again, under a filter that kills. */
#include "hands/worker/worker_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/child.h"
#include "common/digest.h"
#include "common/fd.h"
#include "common/json.h"
#include "hands/confine/selftest.h"
#include "hands/init/roles.h"
#include "hands/tools/hooks.h"
#include "hands/worker/warm.h"

#define SMALL_JOB (16u << 10)
#define DATA_PIPE (1 << 20)

/* ---- the job --------------------------------------------------------------------- */
static int
decode_reads(struct run *r, struct ats_err *err)
{
	struct ats_buf one = { 0 };
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	int rc = 0;

	if (r->ctx.reads.p == NULL)
		return 0;
	ats_buf_init(&one, 16u << 10);
	ats_json_iter_init(&it, r->ctx.reads);
	while (rc == 0 && r->env.nreads < WORKER_READS_MAX && ats_json_next(&it, &key, &v)) {
		struct ats_CTX_READ c;
		struct tool_read *t = &r->reads[r->env.nreads];

		rc = ats_msg_decode(&ats_shape_CTX_READ, v.raw.p, v.raw.n,
		    ATS_DECODE_SCANNED, &c, &one, err);
		if (rc < 0)
			break;
		/* Lives as long as the process does: one job. */
		*t = (struct tool_read){ strdup(c.path), c.size, c.mtime_ns,
			strdup(c.sha256) };
		if (t->path == NULL || t->sha256 == NULL)
			rc = ats_err_set(err, ATS_E_NOMEM, "out of memory");
		r->env.nreads++;
	}
	ats_buf_done(&one);
	return rc;
}

static int
decode_validate(struct run *r, struct ats_err *err)
{
	struct ats_msg_CALL_VALIDATE v;
	int rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_CALL_VALIDATE].shape, r->job.json,
	    r->job.head.json_len, 0, &v, &r->call_arena, err);

	if (rc == 0)
		r->call = (struct ats_msg_CALL_TOOL){ .name = v.name, .input = v.input,
			.ctx = v.ctx };
	return rc;
}

static int
decode(struct run *r, struct ats_err *err)
{
	int rc;

	if (r->env.check_only)
		rc = decode_validate(r, err);
	else
		rc = ats_msg_decode(&ats_frame_rows[ATS_FRAME_CALL_TOOL].shape, r->job.json,
		    r->job.head.json_len, 0, &r->call, &r->call_arena, err);
	if (rc == 0)
		rc = ats_msg_decode(&ats_shape_CTX_IN, r->call.ctx.p, r->call.ctx.n,
		    ATS_DECODE_SCANNED, &r->ctx, &r->ctx_arena, err);
	return rc < 0 ? rc : decode_reads(r, err);
}

static void
set_env(struct run *r)
{
	const struct box *b = r->z->box;
	const char *const paths[] = { b->workspace, b->tmp, b->home, b->spill };

	r->env.roots = r->roots;
	for (size_t i = 0; i < ATS_ARRAY_LEN(paths); i++)
		if (r->z->roots[i] >= 0)
			r->roots[r->env.nroots++] = (struct tool_root){ paths[i],
				r->z->roots[i], paths[i] != b->spill,
				i == 0 ? b->deny : NULL };
	r->env.home = b->home;
	r->env.reads = r->reads;
	r->env.progress = worker_progress;
	r->env.progress_ctx = r;
	r->env.give = worker_give;
	r->env.give_ctx = r;
}

/* Whether this worker may run the tool; the checks of any are made in a read worker. */
static bool
runs_here(const struct run *r, const struct ats_tool_row *row)
{
	enum ats_profile here = r->z->confine->profile;
	const struct tool *tool = tool_registry[ats_tool_id(row)];

	if (r->env.check_only)
		return here == ATS_PROFILE_READ;
	return tool != NULL && tool->run != NULL && row->profile != ATS_PROFILE_SHELL &&
	       (row->profile != ATS_PROFILE_WRITE || here == ATS_PROFILE_WRITE);
}

static int
check_tool(struct run *r, const struct ats_tool_row *row)
{
	const struct tool *tool = tool_registry[ats_tool_id(row)];
	int rc;

	if (tool == NULL || tool->check == NULL)
		return ats_buf_addf(&r->result.text,
		    "The arguments are right; %s has nothing else to check beforehand.",
		    row->name);
	rc = tool->check(&r->env, &r->input, &r->result);
	ats_buf_reset(&r->result.reads); /* to look is not to read */
	return rc;
}

/* The pipe for the tool's bytes: front has its other end before the first of them. */
static int
open_data(struct run *r)
{
	struct reply_head h = { .what = REPLY_DATA };
	int fds[2], rc = ats_fd_pipe(fds, 0);
	ssize_t n;

	if (rc < 0)
		return rc;
	(void)fcntl(fds[1], F_SETPIPE_SZ, DATA_PIPE);
	n = ats_fd_send(r->sock, &h, sizeof h, &fds[0], 1);
	rc = n < 0 ? -ATS_E_EOF
		   : ats_fd_write_all(
			 r->sock, (const char *)&h + n, sizeof h - (size_t)n);
	(void)close(fds[0]);
	r->env.data_fd = fds[1];
	r->env.has_data = true;
	return rc;
}

/* The end of the bytes, before the result. */
static void
close_data(struct run *r)
{
	if (r->env.has_data)
		(void)close(r->env.data_fd);
	r->env.has_data = false;
}

/* 0 with a result, or negative: our own fault. */
static int
run_tool(struct run *r)
{
	const struct ats_tool_row *row;
	struct ats_err err = { 0 };

	r->env.check_only = (r->job.head.flags & JOB_VALIDATE) != 0;
	if (decode(r, &err) < 0)
		return tool_fail(&r->result, err.code, "%s", err.text);
	row = ats_tool_find(r->call.name);
	if (row == NULL)
		return tool_fail(&r->result, ATS_E_UNKNOWN_TOOL, "there is no tool %s",
		    r->call.name);
	if (!runs_here(r, row))
		return tool_fail(&r->result, ATS_E_UNKNOWN_TOOL, "%s does not run here",
		    r->call.name);
	if (ats_tool_input(row, r->call.input.p, r->call.input.n, &r->input,
		&r->input_arena, &err) < 0)
		return tool_fail(&r->result, err.code, "%s", err.text);
	r->env.cwd = r->ctx.cwd;
	r->env.attempt = r->call.attempt;
	r->env.deadline_us = r->job.head.deadline_us;
	r->env.extra = (struct ats_slice){ r->job.extra, r->job.head.extra_len };
	if (r->call.has_window && !r->env.check_only && (row->hints & ATS_HINT_DATA) != 0 &&
	    open_data(r) < 0)
		return -ATS_E_NOMEM;
	return r->env.check_only
		   ? check_tool(r, row)
		   : tool_registry[ats_tool_id(row)]->run(&r->env, &r->input, &r->result);
}

/* With what the session's settings are: whether the workspace may have hooks. */
static int
run_selftest(struct run *r)
{
	if (r->z->confine->profile == ATS_PROFILE_READ && hooks_has_settings(r->z->roots[0]) &&
	    ats_buf_add_str(&r->result.output, "{\"hooks\":true}") < 0)
		return -ATS_E_NOMEM;
	return selftest_run(r->z, &r->result.text);
}

static int
run_hooks(struct run *r)
{
	struct ats_msg_CALL_HOOK m;
	struct ats_err err = { 0 };

	if (r->z->confine->profile != ATS_PROFILE_READ ||
	    ats_msg_decode(&ats_frame_rows[ATS_FRAME_CALL_HOOK].shape, r->job.json,
		r->job.head.json_len, 0, &m, &r->call_arena, &err) < 0)
		return tool_fail(&r->result, ATS_E_PROTO, "%s", err.text);
	return hooks_list(r->z->roots[0], m.event, m.name, &r->result.output);
}

/* ---- warming up ------------------------------------------------------------------ */
/* What finding no file leaves cold: digests, and the letters' cases, by which endings of names are
 * compared. */
static void
touch_rest(const char *name)
{
	char hex[ATS_SHA256_HEX];
	volatile int differs;	/* what nobody looks at is not computed */

	ats_sha256_hex("", 0, hex);
	differs = strcasecmp(name, ".");
	(void)differs;
}

/* Runs the paths of an ordinary job once, so that their pages are there: decoding, a tool
 * that fails to read a directory, the answer (to nobody). */
static void
warm_up(struct run *r)
{
	static const char job[] =
	    "{\"name\":\"Read\",\"input\":{\"file_path\":\".\"},"
	    "\"ctx\":{\"cwd\":\"" BOX_SPILL "\",\"reads\":[{\"path\":\"/\",\"size\":1,"
	    "\"mtime_ns\":1,\"sha256\":\"\"}]},\"deadline_ms\":1,\"session\":\"s\"}";
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };

	warm_memory();
	touch_rest(r->z->box->workspace);
	r->job.json = strdup(job);
	r->job.head.json_len = sizeof job - 1;
	r->job.extra = NULL;
	ats_buf_init(&text, 1u << 20);
	/* Whether it works out is of no interest. */
	if (r->job.json != NULL && run_tool(r) == 0 &&
	    ats_utf8_repair(&text, r->result.text.data, r->result.text.len) == 0)
		(void)!ats_msg_encode(&ats_frame_rows[ATS_FRAME_RESULT].shape,
		    &(struct ats_msg_RESULT){ .outcome = "done" }, &r->json, NULL);
	free(r->job.json);
}

static void
reset(struct run *r)
{
	r->env.nreads = 0;
	r->env.attempt = 0;
	tool_result_done(&r->result);
	tool_result_init(&r->result, WORKER_TEXT_MAX);
	ats_buf_reset(&r->json);
}

static void
start(struct run *r, const struct zygote_child *z)
{
	r->z = z;
	ats_buf_init(&r->call_arena, 20u << 20);
	ats_buf_init(&r->ctx_arena, 512u << 10);
	ats_buf_init(&r->input_arena, 40u << 20);
	ats_buf_init(&r->json, 2u << 20);
	tool_result_init(&r->result, WORKER_TEXT_MAX);
	set_env(r);
}

/* By the system call: the vdso's pages, and the tables for them, would be this process's to make
 * for two looks at the clock. */
static uint64_t
now_us(void)
{
	struct timespec ts = { 0 };

	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

static void
serve(struct run *r, char *small)
{
	uint64_t begin;
	int rc = job_read(r->sock, small, SMALL_JOB, &r->job);

	if (rc <= 0)
		return;
	begin = now_us();
	rc = (r->job.head.flags & JOB_SELFTEST) != 0 ? run_selftest(r) :
	    (r->job.head.flags & JOB_HOOKS) != 0     ? run_hooks(r) :
						       run_tool(r);
	close_data(r);
	if (rc < 0) {
		reset(r);
		(void)tool_fail(&r->result, -rc, "%s", ats_err_text(rc));
	}
	if (worker_answer(r, now_us() - begin) < 0) {
		reset(r);
		(void)tool_fail(
		    &r->result, ATS_E_TOOBIG, "the result was too large to send");
		(void)!worker_answer(r, now_us() - begin);
	}
}

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The zygote's descriptors are no business of a worker. */
static void
close_others(const struct zygote_child *z, const int pair[2])
{
	int keep[8] = { ZYGOTE_FD_FRONT, pair[0], pair[1] };
	size_t n = 3;

	for (size_t i = 0; i < ATS_ARRAY_LEN(z->roots); i++)
		if (z->roots[i] >= 0)
			keep[n++] = z->roots[i];
	qsort(keep, n, sizeof keep[0], by_number);
	ats_child_close_others(STDERR_FILENO + 1, keep, n);
}

void
worker_main(const struct zygote_child *z)
{
	static struct run r;
	static char small[SMALL_JOB] WARM_PAGES;
	struct ats_err err = { 0 };
	int pair[2];

	if (ats_fd_socketpair(SOCK_STREAM, pair) < 0) {
		(void)ats_err_sys(&err, "socketpair");
		zygote_fail(&err);
	}
	r.sock = pair[0];
	ats_fd_widen(r.sock);
	start(&r, z);
	close_others(z, pair);
	if (confine_apply(z->confine, CONFINE_FILE_WORKER, &err) < 0)
		zygote_fail(&err);
	small[0] = 0;
	warm_up(&r);
	reset(&r);
	if (zygote_announce(z, &pair[1], 1) < 0)
		_exit(0);
	(void)close(pair[1]);
	serve(&r, small);
	job_wait_release(r.sock);
	_exit(0);
}
