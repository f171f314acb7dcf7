/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines of scripts. Runs in the engine. What is printed is judged strictly: an unknown
 * member, or a version that is not ours, is an error and not a guess. */
#include "brain/engine/script_line.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"

#define LINE_MAX_BYTES 16384

/* ---- to scripts -------------------------------------------------------------------- */

static void
begin(struct ats_json_w *w, struct ats_buf *out)
{
	ats_buf_done(out);
	ats_buf_init(out, LINE_MAX_BYTES);
	ats_json_w_init(w, out);
	ats_json_w_object(w, NULL);
	ats_json_w_u64(w, "version", SCRIPT_LINE_VERSION);
}

int
script_line_build(const char *box, const char *workspace, uint64_t generation,
    const struct made *keep, size_t nkeep, const char *key,
    struct ats_buf *out)
{
	struct ats_json_w w;

	begin(&w, out);
	ats_json_w_str(&w, "sandbox", box);
	ats_json_w_str(&w, "workspace", workspace);
	ats_json_w_u64(&w, "generation", generation);
	ats_json_w_array(&w, "keep");
	for (size_t i = 0; i < nkeep; i++)
		ats_json_w_str(&w, NULL, keep[i].id);
	ats_json_w_end(&w);
	if (key != NULL)
		ats_json_w_str(&w, "key", key);
	ats_json_w_end(&w);
	return w.rc;
}

int
script_line_id(const char *id, struct ats_buf *out)
{
	struct ats_json_w w;

	begin(&w, out);
	ats_json_w_str(&w, "id", id);
	ats_json_w_end(&w);
	return w.rc;
}

/* ---- from scripts ------------------------------------------------------------------ */

/* All members are of names (none needs escapes), and all of names are there. */
static int
check_members(struct ats_slice line, const char *const *names, size_t n, struct ats_err *err)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	uint64_t version;
	size_t i;

	ats_json_iter_init(&it, line);
	while (ats_json_next(&it, &key, &v)) {
		for (i = 0; i < n && !ats_json_key_is(key, names[i]); i++)
			;
		if (i == n)
			return ats_err_set(err, ATS_E_PROTO, "what it printed has a member that "
			    "does not belong there");
	}
	for (i = 0; i < n; i++)
		if (!ats_json_get(line, names[i], &v))
			return ats_err_set(err, ATS_E_PROTO, "what it printed has no \"%s\"",
			    names[i]);
	if (!ats_json_get(line, "version", &v) || v.type != ATS_JSON_NUMBER ||
	    ats_json_to_u64(&v, &version) < 0 || version != SCRIPT_LINE_VERSION)
		return ats_err_set(err, ATS_E_PROTO, "\"version\" of what it printed is not %d",
		    SCRIPT_LINE_VERSION);
	return 0;
}

static int
get_str(struct ats_slice line, const char *name, char *out, size_t size, struct ats_err *err)
{
	struct ats_json_val v;
	char *s = ats_json_get(line, name, &v) ? ats_json_dup_str(&v) : NULL;
	size_t n = s == NULL ? 0 : strlen(s);
	bool fits = n > 0 && n < size;

	if (fits)
		memcpy(out, s, n + 1);
	free(s);
	return fits ? 0 : ats_err_set(err, ATS_E_PROTO, "\"%s\" of what it printed is not a text "
	    "of 1 to %zu bytes", name, size - 1);
}

int
script_line_made(struct ats_slice line, struct made *ret, struct ats_err *err)
{
	static const char *const names[] = { "version", "id", "url" };
	struct ats_err why = { 0 };
	struct ats_addr addr;
	struct made m;
	int rc = check_members(line, names, ATS_ARRAY_LEN(names), err);

	if (rc == 0)
		rc = get_str(line, "id", m.id, sizeof(m.id), err);
	if (rc == 0)
		rc = get_str(line, "url", m.url, sizeof(m.url), err);
	if (rc < 0)
		return rc;
	if (m.id[strspn(m.id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	    "._:/-")] != '\0')
		return ats_err_set(err, ATS_E_PROTO, "\"id\" of what it printed has a character "
		    "that is no letter, digit or one of . _ : / -");
	if (ats_addr_parse(m.url, &addr, &why) < 0)
		return ats_err_set(err, ATS_E_PROTO, "\"url\" of what it printed: %s", why.text);
	*ret = m;
	return 0;
}

int
script_line_alive(struct ats_slice line, bool *ret, struct ats_err *err)
{
	static const char *const names[] = { "version", "alive" };
	struct ats_json_val v;
	int rc = check_members(line, names, ATS_ARRAY_LEN(names), err);

	if (rc < 0)
		return rc;
	if (!ats_json_get(line, "alive", &v) || v.type != ATS_JSON_BOOL)
		return ats_err_set(err, ATS_E_PROTO, "\"alive\" of what it printed is not true or "
		    "false");
	*ret = v.b;
	return 0;
}
