/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tool gives back. Runs in read and write workers. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/json.h"
#include "hands/tools/tool.h"

#define BLOCKS_MAX 4096u
#define OUTPUT_MAX (512u << 10)
#define READS_MAX (128u << 10)
#define FAIL_TEXT_MAX 8192

void
tool_result_init(struct tool_result *r, size_t max_text)
{
	memset(r, 0, sizeof *r);
	ats_buf_init(&r->text, max_text);
	ats_buf_init(&r->blocks, BLOCKS_MAX);
	ats_buf_init(&r->output, OUTPUT_MAX);
	ats_buf_init(&r->reads, READS_MAX);
	r->render.fd = -1;
}

void
tool_result_done(struct tool_result *r)
{
	ats_buf_done(&r->text);
	ats_buf_done(&r->blocks);
	ats_buf_done(&r->output);
	ats_buf_done(&r->reads);
	ats_fd_close(&r->render.fd);
}

int
tool_fail(struct tool_result *r, int code, const char *fmt, ...)
{
	char text[FAIL_TEXT_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	r->is_error = true;
	r->code = code < 0 ? -code : code;
	ats_buf_reset(&r->text);
	ats_buf_reset(&r->blocks);
	r->blocked = 0;
	ats_fd_close(&r->render.fd);
	if (n > 0)	/* a text that does not fit is still a failed result */
		(void)!ats_buf_add(&r->text, text, strlen(text));
	return 0;
}

int
tool_block(struct tool_result *r, const char *mime)
{
	size_t n = r->text.len - r->blocked;
	int rc;

	if (n == 0)
		return 0;
	rc = ats_buf_add_char(&r->blocks, r->blocks.len == 0 ? '[' : ',');
	if (rc == 0 && mime != NULL)
		rc = ats_buf_addf(&r->blocks,
		    "{\"type\":\"image\",\"mime\":\"%s\",\"len\":%zu}", mime, n);
	else if (rc == 0)
		rc = ats_buf_addf(&r->blocks, "{\"type\":\"text\",\"len\":%zu}", n);
	r->blocked = r->text.len;
	return rc;
}

int
tool_blocks_end(struct tool_result *r)
{
	int rc = tool_block(r, NULL);

	return rc < 0 || r->blocks.len == 0 ? rc : ats_buf_add_char(&r->blocks, ']');
}

int
tool_saw(struct tool_result *r, const char *path, uint64_t size, uint64_t mtime_ns,
    const char *sha256)
{
	struct ats_json_w w;
	int rc = 0;

	if (r->reads.len > 0)
		rc = ats_buf_add_char(&r->reads, ',');
	if (rc < 0)
		return rc;
	ats_json_w_init(&w, &r->reads);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "path", path);
	ats_json_w_u64(&w, "size", size);
	ats_json_w_u64(&w, "mtime_ns", mtime_ns);
	ats_json_w_str(&w, "sha256", sha256 != NULL ? sha256 : "");
	ats_json_w_end(&w);
	return w.rc;
}

const struct tool_read *
tool_read_find(const struct tool_env *env, const char *path)
{
	for (size_t i = 0; i < env->nreads; i++)
		if (strcmp(env->reads[i].path, path) == 0)
			return &env->reads[i];
	return NULL;
}
