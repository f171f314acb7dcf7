/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said behind a command's output. Runs in hands' front; cwd and process names are
 * the tool's choice and go through UTF-8 repair. */
#include "hands/front/bash_notes.h"

#include "common/json.h"
#include "common/path.h"
#include "hands/front/bash.h"
#include "hands/front/capture.h"
#include "hands/front/delivery.h"
#include "hands/front/front.h"
#include "hands/front/spill.h"
#include "hands/job.h"

#include <inttypes.h>
#include <string.h>

int
bash_note(struct ats_buf *out, const char *text)
{
	int rc = out->len > 0 && out->data[out->len - 1] != '\n'
		     ? ats_buf_add_char(out, '\n')
		     : 0;

	return rc < 0 ? rc : ats_buf_add_str(out, text);
}

static int
note_survivors(const struct bash_text *t, struct ats_buf *out)
{
	ATS_CLEANUP_BUF struct ats_buf names = { 0 };
	const struct job_exit *e = t->end->exit;
	int rc;

	if (e->survivors == 0 || t->end->why != ENDED_ITSELF)
		return 0;
	ats_buf_init(&names, 4 * sizeof(e->names));
	if ((rc = ats_utf8_show(&names, e->names, strlen(e->names))) < 0)
		return rc;
	rc = bash_note(out, "");
	return rc < 0 ? rc
		      : ats_buf_addf(out,
			    "[%u process%s still running when the shell ended, and ended "
			    "with it: %s. "
			    "Use run_in_background to keep a command running.]",
			    e->survivors, e->survivors == 1 ? " was" : "es were",
			    names.data);
}

/* A note of two paths, which tools choose: each text stands before its path, end after both. */
static int
note_paths(struct ats_buf *out, const char *const text[2], const char *const path[2],
    const char *end)
{
	int rc = bash_note(out, "");

	for (unsigned i = 0; rc == 0 && i < 2; i++) {
		rc = ats_buf_add_str(out, text[i]);
		if (rc == 0)
			rc = ats_utf8_show(out, path[i], strlen(path[i]));
	}
	return rc < 0 ? rc : ats_buf_add_str(out, end);
}

static int
note_cwd(const struct bash_text *t, struct ats_buf *out, const char **ret_cwd)
{
	static const char *const gone[] = { "[The working directory ",
		" does not exist any more; the command ran in " };
	static const char *const outside[] = { "[The working directory was reset to ", ": " };
	const char *cwd = t->end->exit->cwd;
	const char *before = t->cwd;
	int rc = 0;

	if ((t->end->exit->flags & EXIT_CWD_GONE) != 0) {
		before = t->f->opt.workspace;
		*ret_cwd = before;
		rc = note_paths(out, gone, (const char *[]){ t->cwd, before }, ".]");
	}
	if (rc == 0 && (t->end->exit->flags & EXIT_CWD_REMOVED) != 0) {
		*ret_cwd = t->f->opt.workspace;
		if ((rc = bash_note(out, "")) < 0)
			return rc;
		return ats_buf_addf(out,
		    "[The working directory was removed; the next command runs in %s.]",
		    t->f->opt.workspace);
	}
	if (rc < 0 || cwd[0] != '/' || strcmp(cwd, before) == 0)
		return rc;
	if (bash_cwd_is_allowed(t->f, cwd) && ats_utf8_valid(cwd, strlen(cwd))) {
		*ret_cwd = cwd;
		return 0;
	}
	*ret_cwd = strcmp(before, t->cwd) == 0 ? NULL : before;
	return note_paths(out, outside, (const char *[]){ before, cwd },
	    " is outside of the workspace.]");
}

static int
note_spill(const struct bash_text *t, bool cut, struct ats_buf *out)
{
	int rc;

	if (!cut || t->spill == NULL || spill_lost(t->spill) == 0)
		return cut && t->spill_failed
			   ? bash_note(out, "[The whole output could not be kept in a file.]")
			   : 0;
	if ((rc = bash_note(out, "")) < 0)
		return rc;
	if (spill_error(t->spill) == 0)
		return ats_buf_addf(out,
		    "[The file holds the first %u and the last %u MiB of "
		    "the output.]",
		    SPILL_FIRST >> 20, SPILL_LAST >> 20);
	return ats_buf_addf(out, "[%" PRIu64 " bytes are missing from the file: %s.]",
	    spill_lost(t->spill), ats_err_text(spill_error(t->spill)));
}

/* ---- limits ------------------------------------------------------------------------ */
/* What the kernel does not tell the monitor is only told by what shells and interpreters say
 * about it: a guess, and said to be one. */
static const struct guess {
	unsigned unless;	/* EXIT_*: it is known */
	const char *note;
	const char *words[4];
} guesses[] = {
	/* a fork that failed between two looks of the monitor */
	{ EXIT_PIDS, "[Probably the sandbox's process limit was reached: it printed that a "
	    "process could not be started.]",
	    { "fork: retry: Resource temporarily unavailable",
		"fork: Resource temporarily unavailable", "Cannot fork",
		"BlockingIOError: [Errno 11] Resource temporarily unavailable" } },
	{ 0, "[Probably the limit of open files of one process was reached: it printed so. "
	    "ulimit -n tells how many.]", { "Too many open files" } },
	{ 0, "[Probably the sandbox's limit for the size of one file was reached: it printed "
	    "so. ulimit -f tells it in KiB.]", { "File too large" } },
};

static bool
speaks_of(const struct ats_buf *raw, const struct guess *g)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(g->words) && g->words[i] != NULL; i++)
		if (memmem(raw->data, raw->len, g->words[i], strlen(g->words[i])) != NULL)
			return true;
	return false;
}

static int
note_guesses(const struct bash_text *t, struct ats_buf *out)
{
	ATS_CLEANUP_BUF struct ats_buf raw = { 0 };
	int rc = 0;

	ats_buf_init(&raw, 2 * CAPTURE_SIDE);
	if (t->end->exit->status == 0 || t->text->total == 0 ||
	    capture_raw(t->text, &raw) < 0)
		return 0;
	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(guesses); i++)
		if ((t->end->exit->flags & guesses[i].unless) == 0 &&
		    speaks_of(&raw, &guesses[i]))
			rc = bash_note(out, guesses[i].note);
	return rc;
}

static int
note_memory(const struct bash_text *t, const struct outcome *o, struct ats_buf *out)
{
	const struct job_exit *e = t->end->exit;
	int rc;

	if ((e->flags & EXIT_OOM) != 0 && o->kind != OUTCOME_OOM)
		return bash_note(out, (e->flags & EXIT_OOM_BOX) != 0 ?
		    "[The kernel killed a process of this sandbox for lack of memory while it "
		    "ran.]" :
		    "[The kernel killed a process for lack of memory while it ran, probably one "
		    "of the command's.]");
	/* An allocation that the limit refuses is the program's own error to report. */
	if (e->status == 0 || e->data_mb == 0 || o->kind == OUTCOME_OOM ||
	    e->maxrss_kb >> 10 < e->data_mb / 8 * 7)
		return 0;
	rc = bash_note(out, "");
	return rc < 0 ? rc
		      : ats_buf_addf(out,
			    "[A process of it held %" PRIu64 " MiB, and the limit for one "
			    "process is %u MiB: probably it ran out of memory.]",
			    e->maxrss_kb >> 10, e->data_mb);
}

static int
note_disk(const struct bash_text *t, struct ats_buf *out)
{
	const struct job_exit *e = t->end->exit;
	int rc = (e->flags & EXIT_DISK) != 0 ? bash_note(out, "") : 0;

	return rc < 0 || (e->flags & EXIT_DISK) == 0 ? rc :
	    ats_buf_addf(out, "[The disk budget is exceeded: the workspace and HOME hold "
		"%" PRIu64 " MiB, and may hold %" PRIu64 " MiB. Nothing was removed; remove what "
		"is not needed.]", e->disk_mib, e->disk_max_mib);
}

static int
note_limits(const struct bash_text *t, const struct outcome *o, struct ats_buf *out)
{
	int rc = 0;

	if ((t->end->exit->flags & EXIT_PIDS) != 0 && o->kind != OUTCOME_PIDS)
		rc = bash_note(out, "[The sandbox's process limit was reached while it ran: "
		    "processes could not be started.]");
	if (rc == 0)
		rc = note_guesses(t, out);
	if (rc == 0)
		rc = note_memory(t, o, out);
	return rc < 0 ? rc : note_disk(t, out);
}

static int
note_tools(const struct bash_text *t, struct ats_buf *out)
{
	const char *gap = delivery_gap(t->f->delivery);
	int rc = gap != NULL ? bash_note(out, "") : 0;

	return rc < 0 || gap == NULL ? rc :
	    ats_buf_addf(out, "[Tools of the host cannot be used by commands: %s.]", gap);
}

int
bash_notes(const struct bash_text *t, const struct outcome *o, bool cut,
    struct ats_buf *out, const char **ret_cwd)
{
	int rc = 0;

	if (t->end->lost)
		rc = bash_note(out, "[The shell's monitor was killed; how the command ended "
				    "is not known.]");
	if (rc == 0)
		rc = note_limits(t, o, out);
	if (rc == 0)
		rc = note_spill(t, cut, out);
	if (rc == 0)
		rc = note_survivors(t, out);
	if (rc == 0 && t->end->pipe_held)
		rc = bash_note(out, "[A process outside of this call holds its output open; "
				    "what that one prints is not shown.]");
	if (rc == 0 && (t->end->exit->flags & EXIT_STAYS) != 0)
		rc = bash_note(out,
		    "[A name that programs on the host execute or trust was made or changed, and "
		    "could not be put back; hands.log names it. This sandbox ends.]");
	if (rc == 0 && (t->end->exit->flags & EXIT_QUARANTINE) != 0)
		rc = bash_note(out,
		    "[Names that programs on the host execute or trust, as .mcp.json or "
		    ".claude, cannot be made in the workspace: what was made was renamed "
		    "to NAME.quarantine.]");
	if (rc == 0)
		rc = note_tools(t, out);
	if (rc == 0)
		rc = note_cwd(t, out, ret_cwd);
	if (rc == 0 && t->ignored_flag)
		rc = bash_note(out,
		    "[dangerouslyDisableSandbox was ignored: commands always run in the "
		    "sandbox.]");
	return rc;
}
