/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors: functions that can fail return 0 (or a count) or a negative ATS_E_* and may
 * fill a struct ats_err, always their last parameter, which may be NULL. An err is not
 * touched on success. errno becomes a code in the function that made the system call. */
#ifndef ATS_COMMON_ERR_H
#define ATS_COMMON_ERR_H

#include <stdbool.h>

#define ATS_NODISCARD __attribute__((warn_unused_result))
#define ATS_PRINTF(f, a) __attribute__((format(printf, f, a)))
/* Of a large variable that is written before it is read: what hardened builds do to all of them,
 * to clear them, is not done. */
#if defined(__has_attribute) && __has_attribute(uninitialized)
#define ATS_UNINITIALIZED __attribute__((uninitialized))
#else
#define ATS_UNINITIALIZED
#endif
#define ATS_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum ats_error {
	ATS_E_OK = 0,
#define ATS_ERROR(name, number, wire, retry, text) ATS_E_##name = (number),
#include "proto/errors.def"
#undef ATS_ERROR
};

/* code is positive (ATS_E_*), text is one line without a newline. */
struct ats_err {
	int code;
	char text[512];
};

/* Fills err (if not NULL) and returns -code. */
int ats_err_set(struct ats_err *err, int code, const char *fmt, ...) ATS_PRINTF(3, 4);
/* The same for a failed system call: appends strerror(errno). Maps errno to a code
 * (ENOENT NOENT, ENOSPC/EDQUOT NOSPC, ENOMEM NOMEM, EPERM/EACCES PERM, EEXIST EXISTS,
 * EXDEV ESCAPES, else SYS) and returns it negative. Keeps errno. */
int ats_err_sys(struct ats_err *err, const char *fmt, ...) ATS_PRINTF(2, 3);
/* Puts "fmt: " before the text there is. Returns -err->code. */
int ats_err_wrap(struct ats_err *err, const char *fmt, ...) ATS_PRINTF(2, 3);
/* Wire name and English text of a code (either sign); never NULL. Valid for ever. */
const char *ats_err_name(int code);
const char *ats_err_text(int code);
/* By its row: the same call may succeed later. */
bool ats_err_retryable(int code);
/* The code of a wire name, or ATS_E_PROTO. */
int ats_err_from_name(const char *wire);

/* A broken invariant of our own; never reachable by a peer's bytes. Aborts. */
#define ATS_BUG(cond)                                                                    \
	do {                                                                             \
		if (cond)                                                                \
			ats_bug(__FILE__, __LINE__, #cond);                              \
	} while (0)
void ats_bug(const char *file, int line, const char *what) __attribute__((noreturn));

#endif
