/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict JSON (RFC 8259). Three faces over one scanner:
 *  - a pull reader, which the hot paths use: no tree, no allocation but strings;
 *  - a writer into an ats_buf;
 *  - a json-c tree, for configuration and for atsctl only.
 * The scanner refuses what two parsers could read differently: duplicate keys, NaN,
 * comments, lone surrogates, raw control characters, invalid UTF-8, trailing bytes,
 * depth over ATS_JSON_DEPTH, numbers outside int64/uint64 used as integers.
 * Who controls the input: anybody. */
#ifndef ATS_COMMON_JSON_H
#define ATS_COMMON_JSON_H

#include <stdint.h>

#include "common/buf.h"

#define ATS_JSON_DEPTH 32
#define ATS_JSON_MAX_KEYS 512	/* per object */
#define ATS_JSON_OPEN_KEYS 2048	/* of an object and those around it together */

struct json_object;

/* Checks the whole text. 0, -ATS_E_JSON or -ATS_E_UTF8 with the byte offset in err. */
ATS_NODISCARD int ats_json_scan(const char *s, size_t n, struct ats_err *err);

/* ---- pull reader over a text that ats_json_scan has accepted ------------------- */
enum ats_json_type {
	ATS_JSON_END, ATS_JSON_NULL, ATS_JSON_BOOL, ATS_JSON_NUMBER, ATS_JSON_STRING,
	ATS_JSON_OBJECT, ATS_JSON_ARRAY
};
struct ats_json_val {
	enum ats_json_type type;
	struct ats_slice raw;	/* the value's text, borrowed from the input */
	bool b;
};
/* Walks the members of an object or the elements of an array:
 *   struct ats_json_iter it; ats_json_iter_init(&it, raw);
 *   while (ats_json_next(&it, &key, &val)) ...
 * key is the still-escaped text between the quotes (n = 0 for array elements). */
struct ats_json_iter {
	const char *p, *end;
	bool in_object;
};
void ats_json_iter_init(struct ats_json_iter *it, struct ats_slice container);
bool ats_json_next(struct ats_json_iter *it, struct ats_slice *ret_key,
    struct ats_json_val *ret_val);
struct ats_json_val ats_json_value(struct ats_slice raw); /* classify one value's text */
enum ats_json_type ats_json_type(struct ats_slice raw);	/* its type alone: a look at one byte */
/* However the key is escaped. name is UTF-8. */
bool ats_json_key_is(struct ats_slice key, const char *name);
/* Decodes the escape at p (a backslash of scanned text that ends at end) to 1-4 bytes;
 * returns the place after it (after both halves of a surrogate pair). */
const char *ats_json_unescape_one(const char *p, const char *end, unsigned char ret[4],
    unsigned *ret_n);
/* Finds a member of an object; false if absent. */
bool ats_json_get(
    struct ats_slice object, const char *name, struct ats_json_val *ret_val);
/* Whether the member is there and the string word, which needs no escapes. */
bool ats_json_member_is(struct ats_slice object, const char *name, const char *word);
/* Conversions. String: unescapes into out (appends bytes and one NUL that is counted in
 * neither). -ATS_E_FIELD when the type is wrong, out of range, or holds a NUL. */
ATS_NODISCARD int ats_json_to_u64(const struct ats_json_val *v, uint64_t *ret);
ATS_NODISCARD int ats_json_to_i64(const struct ats_json_val *v, int64_t *ret);
ATS_NODISCARD int ats_json_to_str(const struct ats_json_val *v, struct ats_buf *out);
/* Returns owned (free) or NULL (wrong type, NUL inside, no memory). */
char *ats_json_dup_str(const struct ats_json_val *v);
/* The same for the key of a member, as ats_json_next gives it. */
char *ats_json_dup_key(struct ats_slice key);

/* ---- writer -------------------------------------------------------------------- */
/* Errors stick: the first failure is kept in w->rc and later calls do nothing. Commas
 * and quotes are the writer's work. key is NULL inside arrays and for the top value. */
struct ats_json_w {
	struct ats_buf *out;	/* borrowed */
	int rc;
	size_t mark;		/* private: where it began in out */
	uint64_t first;		/* private: bit per depth, nothing written there yet */
	uint64_t array;		/* private: bit per depth, array or object */
	unsigned depth;
};
/* What w writes is appended to out. */
void ats_json_w_init(struct ats_json_w *w, struct ats_buf *out);
void ats_json_w_object(struct ats_json_w *w, const char *key);
void ats_json_w_array(struct ats_json_w *w, const char *key);
void ats_json_w_end(struct ats_json_w *w);	/* closes the innermost */
void ats_json_w_str(struct ats_json_w *w, const char *key, const char *s);
/* Any bytes: invalid UTF-8 becomes U+FFFD, control characters are escaped. */
void ats_json_w_strn(struct ats_json_w *w, const char *key, const char *s, size_t n);
void ats_json_w_u64(struct ats_json_w *w, const char *key, uint64_t v);
void ats_json_w_i64(struct ats_json_w *w, const char *key, int64_t v);
void ats_json_w_bool(struct ats_json_w *w, const char *key, bool v);
void ats_json_w_null(struct ats_json_w *w, const char *key);
/* A text that is JSON already (scanned or written by us); its line breaks become blanks. */
void ats_json_w_raw(struct ats_json_w *w, const char *key, const char *s, size_t n);
/* Ends what w wrote with a newline, or takes all of it back if anything failed: out has whole
 * lines only. Returns w->rc. */
ATS_NODISCARD int ats_json_w_line(struct ats_json_w *w);
/* Appends the escaped form of bytes without the quotes; invalid UTF-8 -> U+FFFD. */
ATS_NODISCARD int ats_json_escape(struct ats_buf *out, const char *s, size_t n);

/* Appends s to out with C and // comments replaced by spaces (line breaks stay, so byte
 * offsets in later messages are right). -ATS_E_JSON when a comment does not end. */
ATS_NODISCARD int ats_json_uncomment(struct ats_buf *out, const char *s, size_t n);

/* ---- tree (json-c); only common/json_tree.c includes json-c ----------------------- */
/* Returns owned (ats_json_tree_free). comments: allow C and // comments. */
ATS_NODISCARD int ats_json_tree(const char *s, size_t n, bool comments,
    struct json_object **ret_tree, struct ats_err *err);
void ats_json_tree_free(struct json_object *tree);	/* NULL is fine */
/* Pretty text, valid until the tree is freed or printed again. */
const char *ats_json_tree_text(struct json_object *tree);

/* ---- UTF-8 ----------------------------------------------------------------------- */
/* Length of the valid sequence at s (1-4), or 0 if invalid or cut. */
unsigned ats_utf8_seq(const char *s, size_t n);
/* The whole. */
bool ats_utf8_valid(const char *s, size_t n);
/* How many bytes at the end are the begin of a sequence that may still become valid. */
size_t ats_utf8_cut_tail(const char *s, size_t n);
/* Appends a valid UTF-8 copy, U+FFFD for each invalid byte run as WHATWG says. */
ATS_NODISCARD int ats_utf8_repair(struct ats_buf *out, const char *s, size_t n);
/* The same of a name within a text, one line that no terminal obeys: control characters (C1 too)
 * are shown as \xNN, each stray byte as U+FFFD. */
ATS_NODISCARD int ats_utf8_show(struct ats_buf *out, const char *s, size_t n);

#endif
