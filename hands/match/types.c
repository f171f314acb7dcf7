/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks up file types. Runs in read workers; the name is the model's. */
#include "hands/match/types.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "hands/match/glob.h"

struct type_row {
	const char *name, *globs;
};
static const struct type_row rows[] = {
#define TYPE(name, globs) { name, globs },
#include "hands/match/types.def"
#undef TYPE
};

/* Everything that begins as the wrong name does, or else the best known ones. */
static void
suggest(const char *name, struct ats_err *err)
{
	ATS_CLEANUP_BUF struct ats_buf text = { 0 };
	size_t n = 0;

	ats_buf_init(&text, 256);
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		if (rows[i].name[0] == name[0] &&
		    ats_buf_addf(&text, "%s%s", n++ > 0 ? ", " : "", rows[i].name) < 0)
			break;
	(void)ats_err_set(err, ATS_E_INVAL, "unknown type \"%.32s\"; %s: %s. Any other "
	    "extension: use glob, as in \"*.%.16s\"", name,
	    n > 0 ? "types that begin so" : "some types",
	    n > 0 ? text.data : "c, cpp, css, go, html, java, js, json, md, php, py, ruby, "
	    "rust, sh, sql, ts, yaml", name);
}

const struct type_row *
type_find(const char *name, struct ats_err *err)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	suggest(name, err);
	return NULL;
}

bool
type_matches(const struct type_row *t, const char *file_name, size_t n)
{
	const char *p = t->globs;

	for (;;) {
		size_t len = strcspn(p, " ");

		if (p[0] == '*' && !glob_has_magic(p + 1, len - 1)) {
			if (n >= len - 1 &&
			    memcmp(file_name + n - (len - 1), p + 1, len - 1) == 0)
				return true;
		} else if (glob_segment(p, len, file_name, n)) {
			return true;
		}
		if (p[len] == '\0')
			return false;
		p += len + 1;
	}
}
