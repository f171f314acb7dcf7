/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to proto/gateway_config*.c: an object's members against a table of keys. */
#ifndef ATS_PROTO_GATEWAY_CONFIG_IN_H
#define ATS_PROTO_GATEWAY_CONFIG_IN_H

#include "common/json.h"
#include "proto/gateway_config.h"

struct ats_gw_in {
	const char *where;		/* "gateways.NAME" and what follows: for texts */
	unsigned kind;			/* enum ats_gw_kind, or 0: all keys are known */
	struct ats_err *err;
};
struct ats_gw_key {
	const char *name;
	unsigned kinds;			/* of gateways that have it */
	size_t offset;			/* into what is filled */
	/* to: the member at offset. Texts by ats_gw_wrong. */
	int (*take)(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
	    void *to);
};

/* "WHERE.KEY: text". Returns -ATS_E_CONFIG. */
int ats_gw_wrong(const struct ats_gw_in *in, const char *key, const char *fmt, ...)
    ATS_PRINTF(3, 4);
/* "WHERE: out of memory". Returns -ATS_E_NOMEM. */
int ats_gw_nomem(const struct ats_gw_in *in);
/* Fills base by the rows; a member that has no row for this kind is an error. */
ATS_NODISCARD int ats_gw_read(const struct ats_gw_in *in, const struct ats_gw_key *rows, size_t n,
    struct ats_slice object, void *base);

/* Rows' take functions: each judges v and fills to, whose type is said, owned by what is filled.
 * 0, -ATS_E_CONFIG with the text, -ATS_E_NOMEM. */
int ats_gw_take_str(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to);			/* char *: not empty, no control characters */
int ats_gw_take_path(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to);			/* char *: absolute */
int ats_gw_take_bool(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to);			/* bool */
int ats_gw_take_ms(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to);			/* uint64_t */
int ats_gw_take_words(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to);			/* struct ats_gw_words */
int ats_gw_take_argv(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to);			/* the same, an absolute path first */
int ats_gw_take_pairs(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to);			/* struct ats_gw_pairs */
void ats_gw_words_done(struct ats_gw_words *w);
void ats_gw_pairs_done(struct ats_gw_pairs *p);

/* gateway_config_url.c */
ATS_NODISCARD int ats_gw_take_url(const struct ats_gw_in *in, const char *key,
    const struct ats_json_val *v, void *to);	/* struct ats_gw_url */
int ats_gw_take_auth(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to);			/* struct ats_gw_config */
int ats_gw_take_headers(const struct ats_gw_in *in, const char *key,
    const struct ats_json_val *v, void *to);	/* struct ats_gw_pairs */

/* gateway_config_tool.c */
int ats_gw_take_tools(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to);			/* struct ats_gw_config */
void ats_gw_tool_done(struct ats_gw_tool *t);

/* gateway_config_file.c */
/* Copies input with each property of type file as a string, and its name into t->files. props is
 * where input's properties are, or of type ATS_JSON_END. */
ATS_NODISCARD int ats_gw_take_files(const struct ats_gw_in *in, const char *key,
    struct ats_slice input, const struct ats_json_val *props, struct ats_gw_tool *t);
/* Of kind http: each of them is the body, and nothing else is. */
ATS_NODISCARD int ats_gw_check_files(const struct ats_gw_in *in, const struct ats_gw_tool *t);

/* gateway_template.c */
int ats_gw_take_template(const struct ats_gw_in *in, const char *key,
    const struct ats_json_val *v, void *to);	/* struct ats_gw_template */
int ats_gw_take_query(const struct ats_gw_in *in, const char *key, const struct ats_json_val *v,
    void *to);			/* struct ats_gw_tool */
void ats_gw_template_done(struct ats_gw_template *t);
/* The text of a path holds only what may stand in one. */
ATS_NODISCARD int ats_gw_check_path(const struct ats_gw_in *in, const char *key,
    const struct ats_gw_template *t);
/* An argument of that name stands in it. */
bool ats_gw_template_has(const struct ats_gw_template *t, const char *arg);

#endif
