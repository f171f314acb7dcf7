/* SPDX-License-Identifier: Apache-2.0
 *
 * What hooks answer. Runs in the engine; the answers are those of programs of the user's, and of
 * a sandbox's. */
#include "proto/hooks.h"

#include <string.h>

#include "proto/rows.h"

#define STRUCT(name, wire, doc) static const struct ats_field fields_##name[] = {
#define FIELD(frame, member, wire, type, req, max, doc)                                  \
	ATS_ROW(struct ats_##frame, member, wire, type, req, 0, max, doc)
#define END(name)                                                                        \
	ATS_ROW_LAST                                                                     \
	}                                                                                \
	;                                                                                \
	ATS_SHAPE_CHECK(fields_##name);
#include "proto/hooks.def"
#undef STRUCT
#undef FIELD
#undef END
#define FIELD(frame, member, wire, type, req, max, doc)
#define END(name)
#define STRUCT(name, wire, doc)                                                          \
	static const struct ats_shape shape_##name =                                     \
	    ATS_SHAPE(wire, fields_##name, struct ats_##name, doc);
#include "proto/hooks.def"
#undef STRUCT
#define STRUCT(name, wire, doc) &shape_##name,
const struct ats_shape *const ats_hook_shapes[] = {
#include "proto/hooks.def"
	NULL
};
#undef STRUCT
#undef FIELD
#undef END

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Not empty, or NULL. */
static const char *
said(const char *s)
{
	return s != NULL && s[0] != '\0' ? s : NULL;
}

static int
take_plain(enum ats_hook_event event, const char *text, size_t n, struct ats_hook_output *o)
{
	int rc;

	if (n == 0 || (event != ATS_HOOK_USER_PROMPT_SUBMIT && event != ATS_HOOK_SESSION_START))
		return 0;
	/* A NUL ends a string, and nothing else. */
	n = strnlen(text, n);
	rc = ats_utf8_repair(&o->arenas[0], text, n);
	if (rc == 0)
		rc = ats_buf_add_char(&o->arenas[0], '\0');
	if (rc == 0)
		o->context = said(o->arenas[0].data);
	return rc;
}

static enum ats_hook_decision
permission(const char *word)
{
	static const struct {
		const char *word;
		enum ats_hook_decision decision;
	} all[] = {
		{ "allow", ATS_HOOK_ALLOW }, { "approve", ATS_HOOK_ALLOW }, { "ask", ATS_HOOK_ASK },
		{ "deny", ATS_HOOK_DENY }, { "block", ATS_HOOK_DENY },
	};

	for (size_t i = 0; word != NULL && i < ATS_ARRAY_LEN(all); i++)
		if (strcmp(all[i].word, word) == 0)
			return all[i].decision;
	return ATS_HOOK_NONE;
}

static int
take_specific(enum ats_hook_event event, struct ats_slice object, struct ats_hook_output *o,
    struct ats_err *err)
{
	struct ats_HOOK_SPECIFIC s;
	struct ats_json_val v;
	int rc = ats_msg_decode(&shape_HOOK_SPECIFIC, object.p, object.n,
	    ATS_DECODE_SCANNED | ATS_DECODE_SKIP_UNKNOWN | ATS_DECODE_NULL_ABSENT, &s,
	    &o->arenas[1], err);

	if (rc < 0)
		return rc;
	if (s.event != NULL && strcmp(s.event, ats_hook_event_rows[event].name) != 0)
		return ats_err_set(err, ATS_E_FIELD, "hookEventName: expected %s",
		    ats_hook_event_rows[event].name);
	if (s.input.p != NULL && ats_json_type(s.input) != ATS_JSON_OBJECT)
		return ats_err_set(err, ATS_E_FIELD, "updatedInput: expected an object");
	if (event == ATS_HOOK_PRE_TOOL_USE) {
		if (permission(s.decision) != ATS_HOOK_NONE) {
			o->decision = permission(s.decision);
			o->reason = said(s.reason);
		}
		o->input = s.input;
	}
	o->context = said(s.context);
	if (event != ATS_HOOK_POST_TOOL_USE)
		return 0;
	if ((ats_json_get(object, "updatedToolOutput", &v) ||
	    ats_json_get(object, "updatedMCPToolOutput", &v)) && v.type != ATS_JSON_NULL)
		o->output = v.raw;
	return 0;
}

static int
take_json(enum ats_hook_event event, const char *text, size_t n, struct ats_hook_output *o,
    struct ats_err *err)
{
	struct ats_HOOK_OUT m;
	int rc = ats_msg_decode(&shape_HOOK_OUT, text, n,
	    ATS_DECODE_SKIP_UNKNOWN | ATS_DECODE_NULL_ABSENT, &m, &o->arenas[0], err);

	if (rc < 0)
		return rc;
	o->decision = permission(m.decision);
	o->reason = said(m.reason);
	o->message = said(m.message);
	if (m.specific.p != NULL && ats_json_type(m.specific) != ATS_JSON_OBJECT)
		return ats_err_set(err, ATS_E_FIELD, "hookSpecificOutput: expected an object");
	if (m.specific.p != NULL)
		rc = take_specific(event, m.specific, o, err);
	if (rc == 0 && m.has_go_on && !m.go_on) {
		o->stops = true;
		o->decision = ATS_HOOK_DENY;
		if (said(m.stop_reason) != NULL)
			o->reason = m.stop_reason;
	}
	return rc;
}

int
ats_hook_output_read(enum ats_hook_event event, const char *text, size_t n,
    struct ats_hook_output *ret, struct ats_err *err)
{
	int rc;

	memset(ret, 0, sizeof(*ret));
	ats_buf_init(&ret->arenas[0], 4 * ATS_HOOK_STDOUT_MAX);
	ats_buf_init(&ret->arenas[1], 4 * ATS_HOOK_STDOUT_MAX);
	while (n > 0 && is_space(*text)) {
		text++;
		n--;
	}
	while (n > 0 && is_space(text[n - 1]))
		n--;
	if (n > ATS_HOOK_STDOUT_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "it printed more than %u bytes",
		    ATS_HOOK_STDOUT_MAX);
	if (n == 0 || *text != '{') {
		rc = take_plain(event, text, n, ret);
		return rc < 0 ? ats_err_set(err, -rc, "%s", ats_err_text(rc)) : 0;
	}
	rc = take_json(event, text, n, ret, err);
	if (rc < 0) {			/* half an answer is none */
		ats_hook_output_done(ret);
		memset(ret, 0, sizeof(*ret));
	}
	return rc;
}

void
ats_hook_output_done(struct ats_hook_output *o)
{
	ats_buf_done(&o->arenas[0]);
	ats_buf_done(&o->arenas[1]);
}
