/* SPDX-License-Identifier: Apache-2.0
 *
 * Dialogs for approvals. Process: atsctl. Whatever the client sends approves one thing at most,
 * and only what this dialog showed: the digest that goes to the vault is kept from then. */
#include "brain/ctl/mcp_elicit.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "brain/ctl/mcp_meta.h"
#include "common/fault.h"

#define CLIENT_NAME_MAX 64u

void
elicit_init(struct mcp_elicit *e, uint64_t secret)
{
	*e = (struct mcp_elicit){ .next = 1 };
	(void)snprintf(e->prefix, sizeof(e->prefix), "ats-approval-%016" PRIx64 "-", secret);
	TAILQ_INIT(&e->open);
}

static void
forget(struct mcp_elicit *e, struct elicit_dialog *d)
{
	TAILQ_REMOVE(&e->open, d, link);
	e->n--;
	free(d);
}

void
elicit_done(struct mcp_elicit *e)
{
	while (!TAILQ_EMPTY(&e->open))
		forget(e, TAILQ_FIRST(&e->open));
}

void
elicit_way(struct ats_slice info, char way[ELICIT_WAY_MAX])
{
	struct ats_json_val v;
	char *name = info.p != NULL && ats_json_get(info, "name", &v) ? ats_json_dup_str(&v) : NULL;
	size_t n = (size_t)snprintf(way, ELICIT_WAY_MAX, "elicitation ");
	const char *from = name != NULL && name[0] != '\0' ? name : "unnamed";

	for (size_t i = 0; from[i] != '\0' && i < CLIENT_NAME_MAX; i++) {
		unsigned char c = (unsigned char)from[i];

		way[n++] = c < 0x80 && (isalnum(c) || strchr("._-/@", c) != NULL) ? (char)c : '_';
	}
	way[n] = '\0';
	free(name);
}

bool
elicit_can(struct ats_slice initialize, char way[ELICIT_WAY_MAX])
{
	struct ats_json_val params, can, v;
	struct ats_slice info = { 0 };

	if (!ats_json_get(initialize, "params", &params) || params.type != ATS_JSON_OBJECT ||
	    !ats_json_get(params.raw, "capabilities", &can) || can.type != ATS_JSON_OBJECT ||
	    !ats_json_get(can.raw, "elicitation", &v) || v.type != ATS_JSON_OBJECT ||
	    !mcp_meta_has_forms(v.raw))
		return false;
	if (ats_json_get(params.raw, "clientInfo", &v) && v.type == ATS_JSON_OBJECT)
		info = v.raw;
	elicit_way(info, way);
	return true;
}

static struct elicit_dialog *
find(const struct mcp_elicit *e, const char *approval)
{
	struct elicit_dialog *d;

	TAILQ_FOREACH(d, &e->open, link) {
		if (strcmp(d->approval, approval) == 0)
			return d;
	}
	return NULL;
}

void
elicit_write_schema(struct ats_json_w *w)
{
	ats_json_w_object(w, "requestedSchema");
	ats_json_w_str(w, "type", "object");
	ats_json_w_object(w, "properties");
	ats_json_w_object(w, "decision");
	ats_json_w_str(w, "type", "string");
	ats_json_w_str(w, "title", "Decision");
	ats_json_w_str(w, "description", "approve: it runs, once, with these arguments; "
	    "deny: the agent is told");
	/* what a form may offer first must do no harm */
	ats_json_w_array(w, "enum");
	ats_json_w_str(w, NULL, "deny");
	ats_json_w_str(w, NULL, "approve");
	ats_json_w_end(w);
	ats_json_w_array(w, "enumNames");
	ats_json_w_str(w, NULL, "Deny");
	ats_json_w_str(w, NULL, "Approve once");
	ats_json_w_end(w);
	ats_json_w_end(w);
	ats_json_w_end(w);
	ats_json_w_array(w, "required");
	ats_json_w_str(w, NULL, "decision");
	ats_json_w_end(w);
	ats_json_w_end(w);
}

static int
add_request(struct ats_buf *out, const char *id, const char *text)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	ats_json_w_str(&w, "id", id);
	ats_json_w_str(&w, "method", "elicitation/create");
	ats_json_w_object(&w, "params");
	ats_json_w_str(&w, "message", text);
	elicit_write_schema(&w);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	return ats_json_w_line(&w);
}

int
elicit_text(const struct approval *a, struct ats_buf *out)
{
	int rc = ats_buf_add_str(out, "An agent wants to use this tool. May it, once, with these "
	    "arguments?\n\n");

	return rc < 0 ? rc : approval_show(out, a);
}

int
elicit_show(struct mcp_elicit *e, const struct approval *a, struct ats_buf *out)
{
	struct elicit_dialog *d;
	struct ats_buf text;
	int rc;

	if (e->n >= ELICIT_MAX || find(e, a->id) != NULL)
		return 0;
	ats_buf_init(&text, ELICIT_TEXT_MAX);
	rc = elicit_text(a, &text);
	d = rc == 0 ? ats_calloc(1, sizeof(*d)) : NULL;
	if (d != NULL) {
		(void)snprintf(d->id, sizeof(d->id), "%.30s%" PRIu64, e->prefix, e->next++);
		memcpy(d->approval, a->id, sizeof(d->approval));
		memcpy(d->sha256, a->sha256, sizeof(d->sha256));
		rc = add_request(out, d->id, text.data);
	} else if (rc == 0) {
		rc = -ATS_E_NOMEM;
	}
	ats_buf_done(&text);
	if (rc < 0) {
		free(d);
		return rc == -ATS_E_TOOBIG ? 0 : rc;
	}
	TAILQ_INSERT_TAIL(&e->open, d, link);
	e->n++;
	return 1;
}

static int
add_cancelled(struct ats_buf *out, const char *id, const char *why)
{
	struct ats_json_w w;

	ats_json_w_init(&w, out);
	ats_json_w_object(&w, NULL);
	ats_json_w_str(&w, "jsonrpc", "2.0");
	ats_json_w_str(&w, "method", "notifications/cancelled");
	ats_json_w_object(&w, "params");
	ats_json_w_str(&w, "requestId", id);
	ats_json_w_str(&w, "reason", why);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	return ats_json_w_line(&w);
}

int
elicit_gone(struct mcp_elicit *e, const char *approval, const char *why, struct ats_buf *out)
{
	struct elicit_dialog *d = find(e, approval);
	int rc = d != NULL ? add_cancelled(out, d->id, why) : 0;

	if (d != NULL)
		forget(e, d);
	return rc;
}

int
elicit_all_gone(struct mcp_elicit *e, const char *why, struct ats_buf *out)
{
	int rc = 0;

	while (!TAILQ_EMPTY(&e->open)) {
		struct elicit_dialog *d = TAILQ_FIRST(&e->open);

		if (rc == 0)
			rc = add_cancelled(out, d->id, why);
		forget(e, d);
	}
	return rc;
}

/* The dialog that a whole, scanned answer is of; *ret_ours: it has an id that we gave. */
static struct elicit_dialog *
answered(const struct mcp_elicit *e, struct ats_slice line, bool *ret_ours)
{
	struct elicit_dialog *d, *found = NULL;
	struct ats_json_val v;
	char *id;

	*ret_ours = false;
	if (ats_json_type(line) != ATS_JSON_OBJECT || ats_json_get(line, "method", &v) ||
	    !ats_json_get(line, "id", &v) || (id = ats_json_dup_str(&v)) == NULL)
		return NULL;
	*ret_ours = strncmp(id, e->prefix, strlen(e->prefix)) == 0;
	TAILQ_FOREACH(d, &e->open, link) {
		if (strcmp(d->id, id) == 0)
			found = d;
	}
	free(id);
	return found;
}

/* What a result says. To dismiss a dialog is no decision: it can still be made elsewhere. */
enum elicit_said
elicit_said_by(struct ats_slice result)
{
	struct ats_json_val content;

	if (ats_json_member_is(result, "action", "decline"))
		return ELICIT_DENY;
	if (!ats_json_member_is(result, "action", "accept") ||
	    !ats_json_get(result, "content", &content) || content.type != ATS_JSON_OBJECT)
		return ELICIT_NOTHING;
	if (ats_json_member_is(content.raw, "decision", "approve"))
		return ELICIT_APPROVE;
	return ats_json_member_is(content.raw, "decision", "deny") ? ELICIT_DENY : ELICIT_NOTHING;
}

enum elicit_said
elicit_answer(struct mcp_elicit *e, const char *line, size_t n, struct elicit_dialog *ret)
{
	struct ats_json_val result;
	struct elicit_dialog *d;
	enum elicit_said said;
	bool ours;

	/* Most lines are not: one look for bytes that only we can have sent. */
	if (e->next == 1 || memmem(line, n, e->prefix, strlen(e->prefix)) == NULL ||
	    ats_json_scan(line, n, NULL) < 0)
		return ELICIT_NOT_OURS;
	d = answered(e, (struct ats_slice){ line, n }, &ours);
	if (d == NULL)
		return ours ? ELICIT_NOTHING : ELICIT_NOT_OURS;
	said = ats_json_get((struct ats_slice){ line, n }, "result", &result) &&
	    result.type == ATS_JSON_OBJECT ? elicit_said_by(result.raw) : ELICIT_NOTHING;
	*ret = *d;
	forget(e, d);
	return said;
}
