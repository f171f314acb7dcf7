/* SPDX-License-Identifier: Apache-2.0
 *
 * Drawing pages: starts pdftoppm and takes its images from a pipe. Runs in hands' front. The
 * document is anybody's and what draws it is believed nothing: bytes are counted as they come. */
#include "hands/front/render_private.h"

#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "hands/front/front.h"
#include "hands/front/shell.h"
#include "hands/fs/pdf.h"
#include "hands/init/roles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_SHOWN 4096u

static void on_cancel(struct call *c, bool timeout);
static void on_free(struct call *c);
static void on_started(void *ctx);
static void on_output(void *ctx, unsigned which, const char *p, size_t n);
static void on_ended(void *ctx, const struct shell_end *end);

static const struct call_ops ops = { .cancel = on_cancel, .free = on_free };
static const struct shell_ops shell_ops = {
	.started = on_started,
	.output = on_output,
	.ended = on_ended,
};

/* Pixels are limited by pdftoppm's own option, whatever size a page claims. Time, address
 * space and files are limited here: a shell is what sets limits wherever it exists. */
static const char script[] =
    "for l in 'c 0' 't 50' 'v 2097152' 'f 131072';do ulimit -$l 2>/dev/null;done;"
    "exec pdftoppm \"$@\"";

/* ---- start ------------------------------------------------------------------------- */
static int
add_argument(struct ats_buf *argv, const char *s)
{
	return ats_buf_add(argv, s, strlen(s) + 1);
}

static int
make_argv(const struct render_ask *ask, struct ats_buf *out)
{
	char first[24], last[24];
	const char *const words[] = { "sh", "-c", script, "pdftoppm", "-jpeg", "-jpegopt",
		"quality=80", "-scale-to", "1400", "-f", first, "-l", last, "-" };
	int rc = 0;

	(void)snprintf(first, sizeof(first), "%" PRIu64, ask->first);
	(void)snprintf(last, sizeof(last), "%" PRIu64, ask->last);
	for (size_t i = 0; i < ATS_ARRAY_LEN(words) && rc == 0; i++)
		rc = add_argument(out, words[i]);
	return rc;
}

static int
start_shell(struct render *r)
{
	ATS_CLEANUP_BUF struct ats_buf argv = { 0 };
	struct shell_job job = {
		.call = r->c->id,
		.cwd = BOX_TMP,
		.flags = JOB_EXEC | JOB_INPUT,
		.input = r->fd,
	};
	int rc;

	ats_buf_init(&argv, 4096);
	rc = make_argv(&r->ask, &argv);
	if (rc < 0)
		return rc;
	job.extra = (struct ats_slice){ argv.data, argv.len };
	r->sh = shell_new(r->c->f, &job, &shell_ops, r);
	return r->sh != NULL ? 0 : -ATS_E_NOMEM;
}

/* False: a worker made this up. */
static bool
read_ask(struct ats_slice payload, struct render_ask *ret, struct ats_slice *ret_path)
{
	if (payload.n < sizeof(*ret) || payload.n - sizeof(*ret) > PATH_MAX_SHOWN)
		return false;
	memcpy(ret, payload.p, sizeof(*ret));
	*ret_path =
	    (struct ats_slice){ payload.p + sizeof(*ret), payload.n - sizeof(*ret) };
	return ret->first >= 1 && ret->last >= ret->first &&
	       ret->last - ret->first < PDF_PAGES_MAX && ret->last < UINT32_MAX;
}

static struct render *
render_new(struct call *c, int fd)
{
	struct render *r = ats_calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->c = c;
	r->fd = fd;
	ats_buf_init(&r->path, 4 * PATH_MAX_SHOWN);
	ats_buf_init(&r->delta, WORKER_JSON_MAX);
	ats_buf_init(&r->images, RENDER_IMAGES_MAX);
	capture_init(&r->said);
	c->ops = &ops;
	c->part = r;
	return r;
}

void
render_start(struct call *c, int fd, struct ats_slice delta, struct ats_slice payload)
{
	struct render *r = render_new(c, fd);
	struct ats_slice path = { NULL, 0 };
	int rc;

	if (r == NULL) {
		ats_fd_close(&fd);
		call_fail(c, true, ATS_E_NOMEM, "%s: no memory.", c->row->name);
		return;
	}
	if (!read_ask(payload, &r->ask, &path)) {
		ats_log(ATS_LOG_WARN, "a worker broke the rules",
		    "session=%s call=c-%" PRIu64 " tool=%s", c->session, c->id, c->row->name);
		call_fail(
		    c, true, ATS_E_PROTO, "%s's worker answered nonsense.", c->row->name);
		return;
	}
	rc = ats_utf8_repair(&r->path, path.p, path.n);
	if (rc == 0 && delta.n > 0)
		rc = ats_buf_add(&r->delta, delta.p, delta.n);
	if (rc == 0)
		rc = start_shell(r);
	if (rc < 0)
		call_fail(c, true, -rc, "%s: the pages could not be drawn: %s.",
		    c->row->name, ats_err_text(rc));
}

static void
on_started(void *ctx)
{
	struct render *r = ctx;

	ats_fd_close(&r->fd);
}

/* ---- while it draws ---------------------------------------------------------------- */
static void
on_output(void *ctx, unsigned which, const char *p, size_t n)
{
	struct render *r = ctx;
	size_t room = RENDER_IMAGES_MAX - r->images.len;

	if (which == 1) {
		(void)capture_add(&r->said, p, n);
		return;
	}
	if (n <= room && ats_buf_add(&r->images, p, n) == 0)
		return;
	(void)!ats_buf_add(&r->images, p, n < room ? n : room);
	r->is_full = true;
	render_answer(r, NULL); /* what still draws ends with the call's part */
}

static void
on_ended(void *ctx, const struct shell_end *end)
{
	struct render *r = ctx;

	if (end->exit == NULL)
		call_fail(r->c, true,
		    end->err.code == 0 ? ATS_E_NOT_STARTED : end->err.code,
		    "The pages could not be drawn: %s.", end->err.text);
	else
		render_answer(r, end->exit);
}

static void
on_cancel(struct call *c, bool timeout)
{
	struct render *r = c->part;

	if (!timeout) {
		call_fail(c, true, ATS_E_CANCELLED, "%s was cancelled.", c->row->name);
		return;
	}
	r->timed_out = true;
	render_answer(r, NULL);
}

static void
on_free(struct call *c)
{
	struct render *r = c->part;

	shell_free(r->sh);
	ats_fd_close(&r->fd);
	ats_buf_done(&r->path);
	ats_buf_done(&r->delta);
	ats_buf_done(&r->images);
	capture_done(&r->said);
	free(r);
}
