/* SPDX-License-Identifier: Apache-2.0
 *
 * What Read makes of a file, judged by its content, and the words for what it does not
 * show. Runs in workers of the read profile; path and content are anybody's. */
#include "hands/tools/read_kind.h"

#include "hands/fs/pdf.h"
#include "hands/fs/text.h"
#include "hands/tools/read_lines.h"

#include <string.h>

#define PDF_BYTES_MAX (256u << 20) /* what draws it holds the whole file in memory */

bool
read_is_utf16(const char *p, size_t n)
{
	return n >= 2 && (memcmp(p, "\xff\xfe", 2) == 0 || memcmp(p, "\xfe\xff", 2) == 0);
}

bool
read_ends_in(const char *path, const char *suffix)
{
	size_t n = strlen(path), k = strlen(suffix);

	return n > k && strcasecmp(path + n - k, suffix) == 0;
}

static bool
is_named_image(const char *path)
{
	return read_ends_in(path, ".png") || read_ends_in(path, ".jpg") ||
	       read_ends_in(path, ".jpeg") || read_ends_in(path, ".gif") ||
	       read_ends_in(path, ".webp");
}

static enum read_kind
judge_image(const struct read_judge *j, const char *p, size_t n, bool whole,
    struct image *ret, struct tool_result *out)
{
	struct ats_err err;

	if (!whole)
		(void)ats_err_set(&err, ATS_E_TOOBIG,
		    "it has %llu bytes, and %u at most can be shown",
		    (unsigned long long)j->size, IMAGE_MAX);
	else if (image_check(p, n, ret, &err) == 0)
		return READ_IMAGE;
	(void)tool_fail(out, err.code,
	    "%s looks like an image (%s), but %s; it is not shown.%s", j->path,
	    image_claims(p, n), err.text,
	    err.code == ATS_E_TOOBIG ? " Make a smaller copy with a command." : "");
	return READ_REFUSED;
}

static enum read_kind
judge_pdf(const struct read_judge *j, struct tool_result *out)
{
	if (j->size <= PDF_BYTES_MAX)
		return READ_PDF;
	(void)tool_fail(out, ATS_E_TOOBIG,
	    "%s is a PDF document of %llu bytes; at most %u can be shown.", j->path,
	    (unsigned long long)j->size, PDF_BYTES_MAX);
	return READ_REFUSED;
}

void
read_refuse_binary(const struct read_judge *j, const char *what, struct tool_result *out)
{
	(void)tool_fail(out, ATS_E_UTF8,
	    "%s is %s (%llu bytes), which Read does not show.%s", j->path, what,
	    (unsigned long long)j->size,
	    strstr(what, "image") != NULL ? " Convert it to PNG with a command." : "");
}

enum read_kind
read_judge(const struct read_judge *j, const char *p, size_t n, bool whole,
    struct image *ret, struct tool_result *out)
{
	unsigned long long size = j->size;
	const char *what;

	if (image_claims(p, n) != NULL)
		return judge_image(j, p, n, whole, ret, out);
	if (pdf_claims(p, n, read_ends_in(j->path, ".pdf")))
		return judge_pdf(j, out);
	if (text_is_binary(p, n, &what))
		read_refuse_binary(j, what, out);
	else if (!whole && read_is_utf16(p, n))
		(void)tool_fail(out, ATS_E_TOOBIG,
		    "%s is UTF-16 text of more than %u bytes, which Read does not show.",
		    j->path, READ_WHOLE_BYTES);
	else if (is_named_image(j->path) && size == 0)
		(void)tool_fail(out, ATS_E_INVAL,
		    "%s is named as an image, but it is empty.", j->path);
	else if (is_named_image(j->path) && !j->lines_asked)
		/* who reads x.png wants an image, and is told before lines of text come
		 */
		(void)tool_fail(out, ATS_E_INVAL,
		    "%s is named as an image, but it is text of %llu bytes. Give offset "
		    "(1) "
		    "to read its lines.",
		    j->path, size);
	return out->is_error ? READ_REFUSED : READ_TEXT;
}
