/* SPDX-License-Identifier: Apache-2.0
 *
 * Build tool, third part: manual pages of the configuration and of the protocol, from the same
 * tables as docs/gen. What they print is checked in under docs/man and compared by lint. */
#include "proto/dump.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/msg.h"

#define DATE "November 30, 2026"

/* Running text, a sentence a line: nothing in it is a macro or an escape. */
static void
print_text(const char *s)
{
	char before = '\n';

	for (; *s != '\0'; before = *s++) {
		if (before == '\n' && (*s == '.' || *s == '\''))
			printf("\\&");
		if (*s == '\\')
			printf("\\e");
		else if (before == '.' && *s == ' ')
			putchar('\n');
		else
			putchar(*s);
		if (before == '.' && *s == ' ' && (s[1] == '.' || s[1] == '\''))
			printf("\\&");
	}
	putchar('\n');
}

static void
print_head(const char *name, const char *title, int section, const char *what)
{
	printf(".\\\" SPDX-License-Identifier: Apache-2.0\n"
	       ".\\\" Printed by make docs; do not edit.\n"
	       ".Dd " DATE "\n.Dt %s %d\n.Os\n.Sh NAME\n.Nm %s\n.Nd %s\n", title, section, name,
	    what);
}

static void
config_key(const char *key, const char *type, uint64_t def, uint64_t min, uint64_t max,
    const char *text, const char *doc)
{
	printf(".It Cm %s\n", key);
	switch (type[0]) {
	case 'U':
		printf("An integer from %" PRIu64 " to %" PRIu64 ", default %" PRIu64 ".\n", min,
		    max, def);
		break;
	case 'B':
		printf("True or false, default %s.\n", def != 0 ? "true" : "false");
		break;
	case 'A':
		printf("An object of arrays of strings.\n");
		break;
	case 'E':
		printf("An object of strings.\n");
		break;
	case 'J':
		printf("An object.\n");
		break;
	default:
		printf("%s", type[3] == 'V' ? "An array of strings" : "A string");
		if (text != NULL && text[0] != '\0')
			printf(", default\n.Dq %s .\n", text);
		else
			printf(".\n");
		break;
	}
	print_text(doc);
}

int
dump_man_config(void)
{
	print_head("brain.json", "ATS-BRAIN.JSON", 5, "configuration of ats-brain");
	printf(".Sh SYNOPSIS\n.Bl -item -compact\n.It\n.Pa ~/.config/ats/brain.json\n.It\n"
	       ".Pa /etc/ats/brain.json\n.El\n.Sh DESCRIPTION\n"
	       "One JSON object in which comments are allowed, read by\n.Xr ats-brain 8\n"
	       "when it starts; the second file by a brain of the machine\n.Pq Fl -system .\n"
	       "It may be absent.\nIt has to belong to that user or to root, and no other may\n"
	       "write it.\n.Pp\nA dot in a key stands for an object:\n.Cm sandbox.env\nis\n"
	       ".Dl { \\(dqsandbox\\(dq: { \\(dqenv\\(dq: { ... } } }\n"
	       "A key that is not here, a value of another type and a rule that cannot be are\n"
	       "errors, told with the line;\n.Dq Nm atsctl Cm config check\n"
	       "looks for them as brain does.\n.Pp\nThe keys are as follows:\n"
	       ".Bl -tag -width Ds\n");
#define CONF(key, member, type, def, min, max, text, who, wire, doc)                     \
	config_key(key, #type, (def), (min), (max), (text), (doc));
#include "brain/config.def"
#undef CONF
	printf(".El\n.Sh EXAMPLES\n.Bd -literal\n"
	       "{\n  // where git on the host may look, tools may not write\n"
	       "  \"sandbox\": { \"deny_read\": [\".env\", \"secrets/\"] },\n"
	       "  \"permissions\": { \"ask\": [\"Bash(git push:*)\"] }\n}\n.Ed\n"
	       ".Sh SEE ALSO\n.Xr atsctl 1 ,\n.Xr ats-protocol 7 ,\n.Xr ats-brain 8\n");
	return 0;
}

static const char *
field_kind(const struct ats_field *f)
{
	static const char *const names[] = {
		[ATS_FIELD_U64] = "integer", [ATS_FIELD_BOOL] = "boolean",
		[ATS_FIELD_STR] = "string", [ATS_FIELD_RAW] = "JSON",
		[ATS_FIELD_STRV] = "array of strings", [ATS_FIELD_ENUM] = "one of some words",
		[ATS_FIELD_ITEMS] = "array of objects",
	};

	return names[f->type];
}

static void
frame(const struct ats_frame_row *r)
{
	printf(".It Cm %s\nType %u, kind %u, from %s, %s.\n", r->shape.name, r->type, r->kind,
	    r->from == ATS_FROM_BRAIN ? "brain" : r->from == ATS_FROM_HANDS ? "hands" :
	    "either side", r->state == ATS_STATE_HELLO ? "before ready" :
	    r->state == ATS_STATE_READY ? "after ready" : "in any state");
	printf("At most %u bytes of JSON and %u of payload.\n", r->max_json, r->max_payload);
	print_text(r->shape.doc);
	if (r->shape.nfields == 0)
		return;
	printf(".Bl -tag -width Ds -compact\n");
	for (size_t i = 0; i < r->shape.nfields; i++) {
		const struct ats_field *f = &r->shape.fields[i];

		printf(".It Va %s\n%s%s, at most %" PRIu64 ".\n", f->name, field_kind(f),
		    f->required ? "" : ", optional", f->type == ATS_FIELD_BOOL ? 1 : f->max);
		print_text(f->doc);
	}
	printf(".El\n");
}

int
dump_man_protocol(void)
{
	print_head("ats-protocol", "ATS-PROTOCOL", 7, "what brain and hands say to each other");
	printf(".Sh DESCRIPTION\n.Xr ats-engine 8\nand\n.Xr ats-hands 8\n"
	       "exchange frames over a stream socket, TLS, WebSocket, or both.\n"
	       "PROTOCOL.md of the documentation says when; this page has the tables.\n"
	       ".Ss A frame\nNumbers are big-endian.\n"
	       ".Bl -column \"4 bytes\" \"JSON length\" -compact\n"
	       ".It 4 bytes Ta length Ta of the whole frame, at most %u\n"
	       ".It 1 byte Ta type Ta 1 call, 2 event, 3 result, 4 control\n"
	       ".It 1 byte Ta kind Ta by type\n.It 2 bytes Ta reserved Ta zero\n"
	       ".It 8 bytes Ta call id Ta 0 for what belongs to no call\n"
	       ".It 4 bytes Ta JSON length Ta \n.El\n.Pp\n"
	       "Then that many bytes of one strict JSON object, and the payload.\n"
	       "Lengths, type, kind, sender, state and sizes are looked at before the JSON.\n"
	       ".Ss Frames\n.Bl -tag -width Ds\n", ATS_FRAME_MAX);
	for (size_t i = 0; i < ATS_FRAME_COUNT; i++)
		frame(&ats_frame_rows[i]);
	printf(".El\n.Ss Errors\nThe words of\n.Cm control.goodbye\nand of results:\n"
	       ".Bl -tag -width Ds -compact\n");
#define ATS_ERROR(name, number, wire, retry, text)                                       \
	printf(".It Cm %s\n", wire);                                                     \
	print_text(text);
#include "proto/errors.def"
#undef ATS_ERROR
	printf(".El\n.Sh SEE ALSO\n.Xr ats-brain.json 5 ,\n.Xr ats-engine 8 ,\n.Xr ats-hands 8\n");
	return 0;
}
