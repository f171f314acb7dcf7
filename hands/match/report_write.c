/* SPDX-License-Identifier: Apache-2.0
 *
 * What a search says in the end. Runs in read workers. */
#include "hands/match/report_private.h"

#include <inttypes.h>
#include <string.h>

#include "common/json.h"
#include "common/path.h"

struct writer {
	struct report *r;
	struct ats_buf *out;
	size_t room;		/* out may grow to this before the tail */
	uint64_t skip, left;	/* entries */
	uint64_t shown;
	bool more;		/* entries were left out */
	bool cut;		/* because the result is full */
};

int
report_path(const struct report_options *o, const char *path, size_t n, struct ats_buf *out)
{
	size_t root = strlen(o->root), cwd = strlen(o->cwd);
	const char *below = ats_path_below(o->root, o->cwd);
	int rc;

	if (root == 1)
		root = 0;			/* "/" */
	if (below != NULL && strcmp(below, ".") == 0)
		return ats_buf_add(out, path, n);
	if (below != NULL) {
		size_t len = strlen(below);

		if (n > len && memcmp(path, below, len) == 0 && path[len] == '/')
			return ats_buf_add(out, path + len + 1, n - len - 1);
	} else if (root >= cwd && ats_path_is_within(o->cwd, o->root)) {
		/* The root lies below cwd. */
		const char *rest = ats_path_below(o->cwd, o->root);

		rc = ats_buf_addf(out, "%s/", rest);
		return rc == 0 ? ats_buf_add(out, path, n) : rc;
	}
	rc = ats_buf_add(out, o->root, root);
	if (rc == 0)
		rc = ats_buf_add_char(out, '/');
	return rc == 0 ? ats_buf_add(out, path, n) : rc;
}

/* ---- entries ------------------------------------------------------------------------------ */
/* Whether the next entry, of that many bytes, is shown. */
static bool
admit(struct writer *w, size_t bytes)
{
	if (w->skip > 0) {
		w->skip--;
		return false;
	}
	if (w->left == 0 || w->cut || w->out->len + bytes > w->room) {
		w->more = true;
		w->cut = w->cut || w->left > 0;
		return false;
	}
	w->left--;
	w->shown++;
	return true;
}

static int
write_line(struct writer *w, const struct report_item *i, const char *line, size_t n)
{
	int rc;

	if (!admit(w, n + i->path_len + strlen(w->r->o.root) + 2))
		return 0;
	if (line[0] == SEARCH_SEPARATOR)
		return ats_buf_add_str(w->out, "--\n");
	rc = report_path(&w->r->o, i->path, i->path_len, w->out);
	return rc == 0 ? ats_buf_add(w->out, line, n) : rc;
}

static int
write_content(struct writer *w, const struct report_item *i)
{
	size_t at = 0;
	int rc = 0;

	if (i->hit.binary) {
		if (!admit(w, i->path_len + strlen(w->r->o.root) + 32))
			return 0;
		rc = ats_buf_add_str(w->out, "Binary file ");
		if (rc == 0)
			rc = report_path(&w->r->o, i->path, i->path_len, w->out);
		return rc == 0 ? ats_buf_add_str(w->out, " matches\n") : rc;
	}
	while (rc == 0 && at < i->text_len) {
		const char *nl = memchr(i->text + at, '\n', i->text_len - at);
		size_t n = nl != NULL ? (size_t)(nl - i->text) + 1 - at : i->text_len - at;

		rc = write_line(w, i, i->text + at, n);
		at += n;
	}
	w->more = w->more || i->hit.more;
	return rc;
}

static int
write_file(struct writer *w, const struct report_item *i)
{
	int rc;

	if (!admit(w, i->path_len + strlen(w->r->o.root) + 32))
		return 0;
	rc = report_path(&w->r->o, i->path, i->path_len, w->out);
	if (rc == 0 && w->r->o.mode == SEARCH_COUNT)
		rc = ats_buf_addf(w->out, ":%" PRIu64, i->hit.matches);
	return rc == 0 ? ats_buf_add_char(w->out, '\n') : rc;
}

static int
write_entries(struct writer *w)
{
	static const char separator[] = { SEARCH_SEPARATOR, '\n' };
	struct report *r = w->r;
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < r->n; k++) {
		if (r->o.mode != SEARCH_CONTENT) {
			rc = write_file(w, r->items[k]);
			continue;
		}
		if (k > 0 && r->o.context)
			rc = write_line(w, r->items[k], separator, sizeof(separator));
		if (rc == 0)
			rc = write_content(w, r->items[k]);
	}
	return rc;
}

/* ---- what is said about them ---------------------------------------------------------------- */
static int
write_names(const struct report *r, const struct report_names *names, const char *before,
    struct ats_buf *out)
{
	int rc;

	if (names->count == 0)
		return 0;
	rc = ats_buf_addf(out, "%s", before);
	for (size_t i = 0; rc == 0 && i < names->n; i++) {
		size_t n = strlen(names->paths[i]);

		/* The tail has little room: a very long path is cut at its front. */
		if (n > 600)
			rc = ats_buf_addf(out, "%s...%s", i > 0 ? ", " : "",
			    names->paths[i] + n - 600);
		else if (i > 0)
			rc = ats_buf_add_str(out, ", ");
		if (rc == 0 && n <= 600)
			rc = n > 0 ? report_path(&r->o, names->paths[i], n, out) :
			    ats_buf_add_str(out, r->o.root);
		if (rc == 0 && names->errors[i] != 0)
			rc = ats_buf_addf(out, " (%s)", strerrordesc_np(names->errors[i]));
	}
	if (rc == 0 && names->count > names->n)
		rc = ats_buf_addf(out, " and %" PRIu64 " more", names->count - names->n);
	return rc == 0 ? ats_buf_add_str(out, ")\n") : rc;
}

static int
write_warnings(const struct report *r, bool early, struct ats_buf *out)
{
	int rc = 0;

	if (early)
		rc = ats_buf_add_str(out, "(Warning: time ran out before all files were "
		    "searched; narrow the search with path, glob or type.)\n");
	if (rc == 0)
		rc = write_names(r, &r->binary, "(Binary files match, not counted: ", out);
	if (rc == 0)
		rc = write_names(r, &r->cut, "(Warning: too large, searched in part only: ", out);
	if (rc == 0)
		rc = write_names(r, &r->steps, "(Warning: the regular expression took too many "
		    "steps (catastrophic backtracking), not searched to the end: ", out);
	if (rc == 0)
		rc = write_names(r, &r->unreadable, "(Warning: could not be read: ", out);
	return rc;
}

static const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static int
write_total(const struct writer *w, uint64_t matches, uint64_t files)
{
	const struct report *r = w->r;
	const char *least = r->full || (w->more && r->o.mode == SEARCH_CONTENT) ?
	    "at least " : "";
	uint64_t first = r->o.offset + 1, last = r->o.offset + w->shown;
	const char *what = r->o.mode == SEARCH_CONTENT ? "line" : "file";
	int rc;

	if (r->o.names_only)
		return w->more ? ats_buf_addf(w->out, "(%" PRIu64 " of %" PRIu64 " files shown, "
		    "newest first; %" PRIu64 " more: use a narrower pattern or path)\n", w->shown,
		    files, files - w->shown) : 0;
	if (r->o.mode == SEARCH_FILES)
		rc = w->more || r->o.offset > 0 ? ats_buf_add_str(w->out, "(Newest first") : 1;
	else
		rc = ats_buf_addf(w->out, "(%s%" PRIu64 " match%s in %" PRIu64 " file%s",
		    least, matches, matches == 1 ? "" : "es", files, plural(files));
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (w->more || r->o.offset > 0)
		rc = ats_buf_addf(w->out, "; %s%s %" PRIu64 "-%" PRIu64 " shown%s%s", what,
		    plural(w->shown), first, last, w->more ? ", there is more" : "",
		    w->cut ? " (the result is full)" : "");
	if (rc == 0 && w->more)
		rc = ats_buf_addf(w->out, ": use offset %" PRIu64 " to go on", last);
	return rc == 0 ? ats_buf_add_str(w->out, ")\n") : rc;
}

static int
write_none(const struct writer *w, uint64_t searched, uint64_t files)
{
	if (files > 0 && w->r->o.offset > 0)
		return ats_buf_addf(w->out, "Nothing at offset %" PRIu64 ": there are fewer "
		    "entries, in %" PRIu64 " file%s\n", w->r->o.offset, files, plural(files));
	if (w->r->o.names_only)
		return ats_buf_add_str(w->out, "No files found\n");
	return ats_buf_addf(w->out, "No matches found (%" PRIu64 " file%s searched)\n", searched,
	    plural(searched));
}

static void
count_items(const struct report *r, uint64_t *ret_files, uint64_t *ret_matches)
{
	*ret_files = r->files;
	*ret_matches = r->matches;
	if (!r->full)
		return;
	/* What lies behind the last item may or may not have been searched: do not tell. */
	*ret_files = r->n;
	*ret_matches = 0;
	for (size_t i = 0; i < r->n; i++)
		*ret_matches += r->items[i]->hit.matches;
}

static int
write_output(const struct writer *w, uint64_t files, uint64_t matches, struct ats_buf *out)
{
	static const char *const modes[] = { "files_with_matches", "count", "content" };
	bool least = w->r->full || (w->more && w->r->o.mode == SEARCH_CONTENT);
	struct ats_json_w j;

	ats_json_w_init(&j, out);
	ats_json_w_object(&j, NULL);
	ats_json_w_str(&j, "mode", modes[w->r->o.mode]);
	ats_json_w_u64(&j, "files", files);
	ats_json_w_u64(&j, "matches", matches);
	ats_json_w_bool(&j, "at_least", least);
	ats_json_w_u64(&j, "shown", w->shown);
	ats_json_w_bool(&j, "more", w->more);
	ats_json_w_end(&j);
	return j.rc;
}

int
report_write(struct report *r, uint64_t searched, bool early, struct tool_result *out)
{
	struct writer w = {
		.r = r, .out = &out->text, .skip = r->o.offset,
		.left = r->o.limit != 0 ? r->o.limit : UINT64_MAX,
		.room = r->o.max_bytes > REPORT_TAIL_BYTES ?
		    r->o.max_bytes - REPORT_TAIL_BYTES : 0,
	};
	uint64_t files, matches;
	int rc = 0;

	report_sort(r);
	count_items(r, &files, &matches);
	if (files == 0 && r->steps.count > 0) {
		rc = tool_fail(out, ATS_E_INVAL, "The regular expression took too many steps "
		    "(catastrophic backtracking) and was stopped; nothing was found until "
		    "then. Nested repetition such as (a+)+ is the usual cause.\n");
		return rc < 0 ? rc : write_warnings(r, early, &out->text);
	}
	if (r->o.mode == SEARCH_FILES && files > 0 && !r->o.names_only)
		rc = ats_buf_addf(w.out, "Found %" PRIu64 " file%s\n", files, plural(files));
	if (rc == 0)
		rc = write_entries(&w);
	/* Files that were dropped are known to be more. */
	if (r->o.mode != SEARCH_CONTENT && files > r->o.offset + w.shown)
		w.more = true;
	if (rc == 0 && w.shown > 0 && r->o.mode != SEARCH_FILES)
		rc = ats_buf_add_char(w.out, '\n');
	if (rc == 0)
		rc = w.shown > 0 ? write_total(&w, matches, files) :
		    write_none(&w, searched, files);
	if (rc == 0)
		rc = write_warnings(r, early, w.out);
	/* No newline at the end: texts of tools have none. */
	if (w.out->len > 0 && w.out->data[w.out->len - 1] == '\n')
		ats_buf_truncate(w.out, w.out->len - 1);
	return rc == 0 ? write_output(&w, files, matches, &out->output) : rc;
}
