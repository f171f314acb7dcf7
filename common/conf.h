/* SPDX-License-Identifier: Apache-2.0
 *
 * Configuration: JSON with comments, checked against brain/config.def. Unknown keys,
 * wrong types, and values out of range are errors that name file, key and remedy. */
#ifndef ATS_COMMON_CONF_H
#define ATS_COMMON_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

enum ats_conf_type {
	ATS_CONF_U64,
	ATS_CONF_BOOL,
	ATS_CONF_STR,
	ATS_CONF_STRV,
	ATS_CONF_ENV,
	ATS_CONF_ARGVS,
	ATS_CONF_JSON
};
#define ATS_CONF_STRV_MAX 64
#define ATS_CONF_ARGVS_MAX 16

/* key is dotted: "limits.output_bytes" is {"limits":{"output_bytes":..}}. offset points
 * into the caller's struct: uint64_t, bool, char * (owned), struct ats_conf_strv, or struct
 * ats_conf_argvs (an object of arrays of strings, none of them empty). JSON: an object whose
 * members are its reader's to judge, kept as a char * (owned, NULL where it is absent) without
 * comments and white space. */
struct ats_conf_row {
	const char *key;
	enum ats_conf_type type;
	size_t offset;
	uint64_t def, min, max;		/* U64 and BOOL */
	const char *def_str;		/* STR */
	const char *doc;
};
struct ats_conf_strv {
	char *v[ATS_CONF_STRV_MAX + 1];	/* NULL-terminated; ENV rows hold "K=V" */
	size_t n;
};
struct ats_conf_argvs {
	struct ats_conf_argv {
		char *name;
		struct ats_conf_strv argv;
	} v[ATS_CONF_ARGVS_MAX];
	size_t n;
};
/* Sets the defaults, then reads text (NULL: defaults only). name is for messages. On
 * failure nothing in out is left to free; -ATS_E_CONFIG, _JSON, _UTF8 or _NOMEM. */
ATS_NODISCARD int ats_conf_parse(const struct ats_conf_row *rows, size_t nrows, void *out,
    const char *name, const char *text, size_t len, struct ats_err *err);
/* Frees what the rows own in out, which stays usable for another parse. */
void ats_conf_done(const struct ats_conf_row *rows, size_t nrows, void *out);

#endif
