/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and texts of the relay directory. Linked into atsctl, which serves one, and ats-hands,
 * whose shim asks in one. Input: what the other side put there. */
#include "proto/relaydir.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "common/digest.h"

#define NONCE 6			/* bytes */
#define TEMP ".tmp."

static const char *const suffixes[] = { [ATS_RELAYDIR_REQUEST] = ".req.json",
	[ATS_RELAYDIR_RESPONSE] = ".res.json" };
#define SUFFIX 9		/* bytes of either */

/* ---- names ------------------------------------------------------------------------- */
static bool
is_plain(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	    c == '_' || c == '-';
}

void
ats_relaydir_id(const char *call_id, char ret_id[ATS_RELAYDIR_ID_MAX + 1])
{
	size_t left = strlen(call_id), n = 0;

	while (left > 0 && n < ATS_RELAYDIR_ID_MAX) {
		unsigned seq = ats_utf8_seq(call_id, left);

		ret_id[n++] = is_plain(*call_id) ? *call_id : '_';
		if (seq == 4 && n < ATS_RELAYDIR_ID_MAX)	/* two units */
			ret_id[n++] = '_';
		call_id += seq == 0 ? 1 : seq;
		left -= seq == 0 ? 1 : seq;
	}
	ret_id[n] = '\0';
	if (n == 0)
		(void)snprintf(ret_id, ATS_RELAYDIR_ID_MAX + 1, "tool");
}

/* The suffix is at s: which. */
static enum ats_relaydir_kind
suffix_at(const char *s)
{
	for (enum ats_relaydir_kind k = ATS_RELAYDIR_REQUEST; k <= ATS_RELAYDIR_RESPONSE; k++)
		if (strncmp(s, suffixes[k], SUFFIX) == 0)
			return k;
	return ATS_RELAYDIR_OTHER;
}

/* Only what was published of a call can have an id; it may hold a dot nowhere, so the first
 * suffix is the one. */
enum ats_relaydir_kind
ats_relaydir_kind(const char *name, char ret_id[ATS_RELAYDIR_ID_MAX + 1])
{
	size_t n = strlen(name), plain = 0;
	enum ats_relaydir_kind k;

	ret_id[0] = '\0';
	if (n >= SUFFIX && (k = suffix_at(name + n - SUFFIX)) != ATS_RELAYDIR_OTHER) {
		n -= SUFFIX;
		while (plain < n && is_plain(name[plain]))
			plain++;
		if (plain == n && n > 0 && n <= ATS_RELAYDIR_ID_MAX) {
			memcpy(ret_id, name, n);
			ret_id[n] = '\0';
		}
		return k;
	}
	for (const char *t = strstr(name, TEMP); t != NULL; t = strstr(t + 1, TEMP)) {
		if (t - name < SUFFIX || t[strlen(TEMP)] == '\0')
			continue;
		k = suffix_at(t - SUFFIX);
		if (k != ATS_RELAYDIR_OTHER)
			return k == ATS_RELAYDIR_REQUEST ? ATS_RELAYDIR_REQUEST_TEMP :
			    ATS_RELAYDIR_RESPONSE_TEMP;
	}
	return ATS_RELAYDIR_OTHER;
}

void
ats_relaydir_name(enum ats_relaydir_kind kind, const char *id, char ret_name[ATS_RELAYDIR_NAME])
{
	ATS_BUG(kind != ATS_RELAYDIR_REQUEST && kind != ATS_RELAYDIR_RESPONSE);
	(void)snprintf(ret_name, ATS_RELAYDIR_NAME, "%.*s%s", ATS_RELAYDIR_ID_MAX, id,
	    suffixes[kind]);
}

int
ats_relaydir_temp(enum ats_relaydir_kind kind, const char *id, char ret_name[ATS_RELAYDIR_NAME])
{
	unsigned char nonce[NONCE];
	char hex[2 * NONCE + 1];
	size_t n;

	if (getrandom(nonce, sizeof(nonce), 0) != (ssize_t)sizeof(nonce))
		return -ATS_E_SYS;
	ats_hex(nonce, sizeof(nonce), hex);
	ats_relaydir_name(kind, id, ret_name);
	n = strlen(ret_name);
	(void)snprintf(ret_name + n, ATS_RELAYDIR_NAME - n, TEMP "%s", hex);
	return 0;
}

/* ---- texts ------------------------------------------------------------------------- */
/* One object, checked whole. What is said of it says where, never what. */
static int
open_object(const char *text, size_t n, size_t max, struct ats_json_iter *ret_it,
    struct ats_err *err)
{
	struct ats_slice all = { text, n };
	int rc;

	if (n > max)
		return ats_err_set(err, ATS_E_TOOBIG, "longer than %zu bytes", max);
	rc = ats_json_scan(text, n, NULL);
	if (rc < 0)
		return ats_err_set(err, -rc, "%s", ats_err_text(rc));
	if (ats_json_type(all) != ATS_JSON_OBJECT)
		return ats_err_set(err, ATS_E_FIELD, "not a JSON object");
	ats_json_iter_init(ret_it, all);
	return 0;
}

static int
read_tool(const struct ats_json_val *v, char tool[ATS_RELAYDIR_TOOL_MAX + 1],
    struct ats_err *err)
{
	ATS_CLEANUP_BUF struct ats_buf name = { 0 };

	ats_buf_init(&name, ATS_RELAYDIR_TOOL_MAX);
	if (ats_json_to_str(v, &name) < 0 || name.len == 0)
		return ats_err_set(err, ATS_E_FIELD, "toolName is not a string of 1 to %d bytes",
		    ATS_RELAYDIR_TOOL_MAX);
	memcpy(tool, name.data, name.len + 1);
	return 0;
}

int
ats_relaydir_request_read(const char *text, size_t n, struct ats_relaydir_request *ret,
    struct ats_err *err)
{
	struct ats_relaydir_request r = { .tool = "" };
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	bool has_id = false;
	int rc = open_object(text, n, ATS_RELAYDIR_REQUEST_MAX, &it, err);

	if (rc < 0)
		return rc;
	while (ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, "toolName")) {
			rc = read_tool(&v, r.tool, err);
			if (rc < 0)
				return rc;
		} else if (ats_json_key_is(key, "toolCallId")) {
			if (v.type != ATS_JSON_STRING)
				return ats_err_set(err, ATS_E_FIELD, "toolCallId is not a string");
			has_id = true;
		} else if (!ats_json_key_is(key, "args")) {
			return ats_err_set(err, ATS_E_FIELD,
			    "a member that is not toolName, toolCallId or args");
		} else if (v.type == ATS_JSON_OBJECT) {
			r.args = v.raw;
		} else if (v.type != ATS_JSON_NULL) {
			return ats_err_set(err, ATS_E_FIELD, "args is not an object");
		}
	}
	if (r.tool[0] == '\0' || !has_id)
		return ats_err_set(err, ATS_E_FIELD, "%s is missing",
		    r.tool[0] == '\0' ? "toolName" : "toolCallId");
	*ret = r;
	return 0;
}

int
ats_relaydir_request_write(struct ats_buf *out, const char *tool, const char *call_id,
    struct ats_slice args)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "toolName", tool);
	ats_json_w_str(&w, "toolCallId", call_id);
	if (args.n > 0)
		ats_json_w_raw(&w, "args", args.p, args.n);
	else
		ats_json_w_raw(&w, "args", "{}", 2);
	ats_json_w_end(&w);
	return w.rc;
}

int
ats_relaydir_response_read(const char *text, size_t n, enum ats_relaydir_answer *ret,
    struct ats_slice *ret_text, struct ats_err *err)
{
	struct ats_json_val v, ok = { .type = ATS_JSON_END }, paused = ok, said = ok, why = ok;
	struct ats_json_iter it;
	struct ats_slice key;
	int rc = open_object(text, n, ATS_RELAYDIR_RESPONSE_MAX, &it, err);

	if (rc < 0)
		return rc;
	while (ats_json_next(&it, &key, &v)) {
		if (ats_json_key_is(key, "ok"))
			ok = v;
		else if (ats_json_key_is(key, "paused"))
			paused = v;
		else if (ats_json_key_is(key, "text"))
			said = v;
		else if (ats_json_key_is(key, "error"))
			why = v;
	}
	if (ok.type != ATS_JSON_BOOL)
		return ats_err_set(err, ATS_E_FIELD, "ok is not true or false");
	if (paused.type == ATS_JSON_BOOL && paused.b) {
		*ret = ATS_RELAYDIR_PAUSED;
		*ret_text = (struct ats_slice){ NULL, 0 };
		return 0;
	}
	v = ok.b ? said : why;
	if (v.type != ATS_JSON_STRING)
		return ats_err_set(err, ATS_E_FIELD, "%s is not a string", ok.b ? "text" : "error");
	*ret = ok.b ? ATS_RELAYDIR_OK : ATS_RELAYDIR_ERROR;
	*ret_text = v.raw;
	return 0;
}

int
ats_relaydir_response_write(struct ats_buf *out, enum ats_relaydir_answer answer,
    const char *text, size_t n)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_bool(&w, "ok", answer != ATS_RELAYDIR_ERROR);
	if (answer == ATS_RELAYDIR_PAUSED)
		ats_json_w_bool(&w, "paused", true);
	else
		ats_json_w_strn(&w, answer == ATS_RELAYDIR_OK ? "text" : "error", text, n);
	ats_json_w_end(&w);
	return w.rc;
}
