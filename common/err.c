/* SPDX-License-Identifier: Apache-2.0
 *
 * Error codes and texts, generated from proto/errors.def. Linked into every process; the
 * texts may quote a peer's words, so newlines and control characters are flattened. */
#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct error_row {
	int code;
	bool retryable;
	const char *wire;
	const char *text;
};

static const struct error_row rows[] = {
	{ 0, false, "ok", "no error" },
#define ATS_ERROR(name, number, wire, retry, text)                                       \
	{ (number), (retry) != 0, (wire), (text) },
#include "proto/errors.def"
#undef ATS_ERROR
};

static const struct error_row *
find(int code)
{
	if (code < 0)
		code = -code;
	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		if (rows[i].code == code)
			return &rows[i];
	}
	return NULL;
}

static void
flatten(char *s)
{
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = ' ';
	}
}

int
ats_err_set(struct ats_err *err, int code, const char *fmt, ...)
{
	char text[sizeof(err->text)]; /* the arguments may point into err->text */
	va_list ap;

	if (code < 0)
		code = -code;
	if (err == NULL)
		return -code;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	flatten(text);
	memcpy(err->text, text, strlen(text) + 1);
	err->code = code;
	return -code;
}

static int
code_of_errno(int e)
{
	switch (e) {
	case ENOENT:
		return ATS_E_NOENT;
	case ENOSPC:
	case EDQUOT:
		return ATS_E_NOSPC;
	case ENOMEM:
		return ATS_E_NOMEM;
	case EPERM:
	case EACCES:
		return ATS_E_PERM;
	case EEXIST:
		return ATS_E_EXISTS;
	case EXDEV:
		return ATS_E_ESCAPES;
	default:
		return ATS_E_SYS;
	}
}

int
ats_err_sys(struct ats_err *err, const char *fmt, ...)
{
	int saved = errno, code = code_of_errno(saved);
	char text[sizeof(err->text) - 64];
	va_list ap;

	if (err != NULL) {
		va_start(ap, fmt);
		(void)vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
		(void)ats_err_set(err, code, "%s: %s", text, strerror(saved));
	}
	errno = saved;
	return -code;
}

int
ats_err_wrap(struct ats_err *err, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list ap;

	if (err == NULL)
		return -ATS_E_SYS;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ats_err_set(err, err->code, "%s: %s", text, err->text);
}

const char *
ats_err_name(int code)
{
	const struct error_row *r = find(code);

	return r != NULL ? r->wire : "unknown_error";
}

const char *
ats_err_text(int code)
{
	const struct error_row *r = find(code);

	return r != NULL ? r->text : "unknown error";
}

bool
ats_err_retryable(int code)
{
	const struct error_row *r = find(code);

	return r != NULL && r->retryable;
}

int
ats_err_from_name(const char *wire)
{
	for (size_t i = 1; i < ATS_ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].wire, wire) == 0)
			return rows[i].code;
	}
	return ATS_E_PROTO;
}

void
ats_bug(const char *file, int line, const char *what)
{
	(void)fprintf(
	    stderr, "level=error msg=\"bug\" at=%s:%d cond=\"%s\"\n", file, line, what);
	abort();
}
