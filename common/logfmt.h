/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of a line of the log (logfmt), in one place: name=value, separated by one space; a
 * value is bare when it is of visible ASCII without space, quote, backslash and =, otherwise
 * between quotes with \" \\ \n and \xNN. Nothing that is put in can end a value, begin another
 * field, or end the line. Pure. */
#ifndef ATS_COMMON_LOGFMT_H
#define ATS_COMMON_LOGFMT_H

#include <stdarg.h>
#include <stddef.h>

#include "common/err.h"

#define ATS_LOGFMT_VALUE 1700u	/* bytes of a value; the rest of a longer one is left out */

/* Writes s[n] between quotes into out[size], escaped, and cut where it does not fit; returns its
 * length. size of at least 3, else out is empty. */
size_t ats_logfmt_quote(char *out, size_t size, const char *s, size_t n);
/* Writes the fields of a format like "sandbox=%s code=%d why=\"%s\"" into out[size]: each value
 * is what the format says, quoted by the rules above as a whole; quotes in the format only say
 * that it always is. One that is a well-formed quoted value already is not quoted again. Fields
 * that do not fit are left out, and cut=true is the last one then. Of conversions there are %s and
 * %.*s, %c, d i u x of all lengths with a width, and %%. Returns the length. */
size_t ats_logfmt_fields(char *out, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

#endif
