/* SPDX-License-Identifier: Apache-2.0
 *
 * .claude/settings.json and .claude/settings.local.json: which hooks they have for an event. Runs
 * in read workers, under a filter that kills; the files are a repository's, hostile perhaps, and
 * what they name is run by others, in the sandbox. */
#include "hands/tools/hooks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/json.h"
#include "common/path.h"
#include "proto/hooks.h"

#define SETTINGS_MAX (256u << 10)

static const char *const files[] = { ".claude/settings.json", ".claude/settings.local.json" };

static int
open_settings(int root, const char *path, struct ats_err *err)
{
	/* A FIFO must not hold us. */
	return ats_path_open_beneath(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, err);
}

bool
hooks_has_settings(int root)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(files); i++) {
		int fd ATS_CLEANUP_FD = open_settings(root, files[i], NULL);

		/* One that cannot be opened may be one that can be later. */
		if (fd >= 0 || fd != -ATS_E_NOENT)
			return true;
	}
	return false;
}

/* -ATS_E_NOENT: there is none. */
static int
read_file(int root, const char *path, struct ats_buf *text, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = open_settings(root, path, err);
	struct stat st;
	ssize_t n = 1;
	char *to;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return ats_err_set(err, ATS_E_NOTFILE, "%s", ats_err_text(ATS_E_NOTFILE));
	while (n > 0) {
		if (text->len > SETTINGS_MAX)
			return ats_err_set(err, ATS_E_TOOBIG, "it has more than %u bytes",
			    SETTINGS_MAX);
		if (ats_buf_reserve(text, 16384, &to) < 0)
			return ats_err_set(err, ATS_E_NOMEM, "%s", ats_err_text(ATS_E_NOMEM));
		n = ats_fd_read(fd, to, 16384);
		if (n < 0)
			return ats_err_sys(err, "read");
		ats_buf_commit(text, (size_t)n);
	}
	return 0;
}

/* Adds what a file has; *ret_off: it wants none at all. */
static int
take_file(int root, const char *path, struct ats_hooks *h, bool *ret_off, struct ats_err *err)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	struct ats_json_val v;
	struct ats_slice all;
	int rc;

	ats_buf_init(&text, SETTINGS_MAX + 32768);
	rc = read_file(root, path, &text, err);
	if (rc == 0)
		rc = ats_json_scan(text.data, text.len, err);
	if (rc < 0)
		return rc;
	all = (struct ats_slice){ text.data, text.len };
	if (ats_json_type(ats_json_value(all).raw) != ATS_JSON_OBJECT)
		return ats_err_set(err, ATS_E_JSON, "it is no object");
	if (ats_json_get(all, "disableAllHooks", &v) && v.type == ATS_JSON_BOOL && v.b)
		*ret_off = true;
	if (!ats_json_get(all, "hooks", &v))
		return 0;
	return ats_hooks_read(h, path, v.raw, false, err);
}

static void
write_hook(struct ats_json_w *w, const struct ats_hook *k)
{
	ats_json_w_object(w, NULL);
	ats_json_w_str(w, "command", k->command);
	if (k->args != NULL) {
		ats_json_w_array(w, "args");
		for (size_t i = 0; i < k->nargs; i++)
			ats_json_w_str(w, NULL, k->args[i]);
		ats_json_w_end(w);
	}
	ats_json_w_u64(w, "timeout_ms", k->timeout_ms);
	ats_json_w_bool(w, "blocks", k->blocks);
	ats_json_w_end(w);
}

static int
write_list(const struct ats_hooks *h, enum ats_hook_event event, const char *name,
    const struct ats_err *why, struct ats_buf *out)
{
	unsigned matched = 0;
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_u64(&w, "events", h->events);
	ats_json_w_array(&w, "hooks");
	for (size_t i = 0; i < h->n; i++) {
		const struct ats_hook *k = &h->v[i];

		if (k->event != event || (name[0] != '\0' && !ats_hook_matches(k->matcher, name)))
			continue;
		if (matched++ < ATS_HOOKS_MATCHED_MAX)
			write_hook(&w, k);
	}
	ats_json_w_end(&w);
	ats_json_w_u64(&w, "more",
	    matched > ATS_HOOKS_MATCHED_MAX ? matched - ATS_HOOKS_MATCHED_MAX : 0);
	ats_json_w_str(&w, "note", why->code != 0 ? why->text : "");
	ats_json_w_end(&w);
	return w.rc;
}

int
hooks_list(int root, const char *event, const char *name, struct ats_buf *out)
{
	enum ats_hook_event e = ATS_HOOK_EVENTS;
	struct ats_err why = { 0 };
	struct ats_hooks h = { 0 };
	bool off = false;
	int rc = 0;

	(void)!ats_hook_event_find(event, strlen(event), &e);
	for (size_t i = 0; rc != -ATS_E_NOMEM && i < ATS_ARRAY_LEN(files); i++) {
		struct ats_err err = { 0 };

		rc = take_file(root, files[i], &h, &off, &err);
		if (rc < 0 && rc != -ATS_E_NOENT && why.code == 0)
			(void)ats_err_set(&why, -rc, "%s: %s", files[i], err.text);
	}
	if (why.code == 0 && h.skipped > 0)
		(void)ats_err_set(&why, ATS_E_CONFIG, "%.380s (in all %zu are left out)",
		    h.why.text, h.skipped);
	if (off)
		ats_hooks_done(&h);
	rc = rc == -ATS_E_NOMEM ? rc : write_list(&h, e, name, &why, out);
	ats_hooks_done(&h);
	return rc;
}
