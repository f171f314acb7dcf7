/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tool is: one file hands/tools/<symbol>.c that defines tool_<symbol>, and its rows in
 * proto/tools.def. Tools of profile READ and WRITE run in a fresh confined worker, once; they
 * may use the whole process but never exec or open a socket. Their input was decoded and
 * checked by the table; paths in it are still hostile. */
#ifndef ATS_HANDS_TOOLS_TOOL_H
#define ATS_HANDS_TOOLS_TOOL_H

#include <stddef.h>

#include "proto/tools.h"

struct ignore_rules;
struct tool_root {
	const char *path;	/* absolute, normalised, as agents name it */
	int fd;			/* O_PATH directory */
	bool writable;
	const struct ignore_rules *deny;	/* what is hidden below it, or NULL */
};
struct tool_read {		/* from ctxIn, what the session knows of a file */
	const char *path;
	uint64_t size, mtime_ns;
	const char *sha256;	/* "" when only a part was seen */
};
struct tool_env {		/* borrowed for the call */
	const struct tool_root *roots;
	size_t nroots;
	const char *cwd;	/* absolute */
	const char *home;	/* what ~ means in the box */
	const struct tool_read *reads;
	size_t nreads;
	uint64_t attempt;	/* > 0: a retry after a loss; be idempotent */
	bool check_only;	/* validate: nothing is locked, made or written */
	uint64_t deadline_us;
	const char *tmpdir;	/* of the worker, may be NULL */
	struct ats_slice extra;	/* data that front added */
	bool has_data;		/* the caller wants the bytes themselves, not the text: */
	int data_fd;		/* a pipe for them, which blocks */
	/* Progress to the caller; may be called at most some times a second. */
	void (*progress)(void *ctx, const char *message, uint64_t done);
	void *progress_ctx;
	/* Sends what is in the result's text, which nothing will change any more, and empties it:
	 * a long text is not held whole. Ends at a character's end. A tool that fails later does
	 * so with tool_fail: its text stands in place of all that was given. May be NULL. */
	int (*give)(void *ctx);
	void *give_ctx;
};
/* Pages that a program of the shell profile has to draw, see hands/front/render.h. The text of
 * such a result is the document's path. */
struct tool_render {
	int fd;			/* the document, owned, at its beginning; -1: nothing to do */
	uint64_t first, last;	/* from 1 */
	uint64_t pages;		/* how many the document seems to have, 0 unknown */
	uint64_t size;		/* bytes */
};
struct tool_result {		/* made by the worker with tool_result_init */
	bool is_error;
	int code;		/* ATS_E_* when is_error, or 0 */
	struct ats_buf text;	/* content, any bytes: made valid UTF-8 before it leaves */
	struct ats_buf blocks;	/* JSON array for RESULT.blocks, or empty */
	struct ats_buf output;	/* structured JSON object, or empty */
	struct ats_buf reads;	/* JSON array elements of ctx_read without [], or empty */
	size_t blocked;		/* bytes of text that are in a block */
	bool has_given;		/* text went ahead, see give */
	struct tool_render render;
};
struct tool {
	enum ats_tool_id id;
	/* in is the tool's struct ats_in_<symbol>. Failures of the tool are results with is_error
	 * and a text for the model; a negative return is for our own faults (no memory). */
	int (*run)(const struct tool_env *env, const void *in, struct tool_result *out);
	/* The first half of run, for validate: whether run would begin its work now. In a read
	 * worker, with env->check_only. NULL: there is nothing to check but the arguments. */
	int (*check)(const struct tool_env *env, const void *in, struct tool_result *out);
};
extern const struct tool *const tool_registry[ATS_TOOL_COUNT]; /* NULL: not a worker's tool */

/* Empty; max_text caps the text, in bytes. */
void tool_result_init(struct tool_result *r, size_t max_text);
void tool_result_done(struct tool_result *r);	/* frees it, a document to render too */
/* Sets is_error, code and the text. Returns 0. */
int tool_fail(struct tool_result *r, int code, const char *fmt, ...) ATS_PRINTF(3, 4);
/* Content in several blocks: what was added to text since the last one becomes a block, of
 * this image type or (mime NULL) of text, which must be valid UTF-8. Empty text is none.
 * After the last one tool_blocks_end, which takes the rest as text. */
ATS_NODISCARD int tool_block(struct tool_result *r, const char *mime);
ATS_NODISCARD int tool_blocks_end(struct tool_result *r);
/* Records read-state: path, size, mtime, hash (NULL or "" partly seen). */
ATS_NODISCARD int tool_saw(struct tool_result *r, const char *path, uint64_t size,
    uint64_t mtime_ns, const char *sha256);
/* The session's entry for a normalised path, or NULL. */
const struct tool_read *tool_read_find(const struct tool_env *env, const char *path);

#endif
