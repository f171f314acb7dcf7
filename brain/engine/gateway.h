/* SPDX-License-Identifier: Apache-2.0
 *
 * Tools of the host, which a gateway runs: the list that the vault tells, calls of them, and
 * the links on which their results come. The vault decides about each call; nothing here can
 * make a gateway do anything. */
#ifndef ATS_ENGINE_GATEWAY_H
#define ATS_ENGINE_GATEWAY_H

#include <stdint.h>
#include <sys/queue.h>

#include "brain/engine/call.h"
#include "proto/brain.h"

#define GATEWAY_TOOLS_MAX 256u		/* of one gateway */
#define GATEWAY_JSON_MAX (32u << 10)	/* what is told of one tool */
#define GATEWAY_FILES_CALLS 128u	/* calls at a time whose files the vault has not yet */
#define GATEWAY_FILES_BYTES (64u << 20)	/* these together; a quarter of both for one session */
#define GATEWAY_JSON_SUM (640u << 10)	/* of all tools: they go to sandboxes in one frame */

struct ats_json_w;
struct calls;

struct gateway_tool {
	TAILQ_ENTRY(gateway_tool) link;
	char name[ATS_GATEWAY_TOOL_MAX];	/* GATEWAY__TOOL */
	char gateway[ATS_GATEWAY_NAME_MAX + 1];
	unsigned flags;				/* enum ats_gateway_flag */
	unsigned refs;				/* the list and each call have one */
	uint64_t timeout_ms;			/* its own limit, 0 not said */
	size_t json_len;
	char *json;				/* owned, one line; the slices are in it */
	struct ats_slice description, schema, annotations;	/* raw; p == NULL: none */
	size_t nfiles;
	char *files[ATS_GATEWAY_FILES_MAX];	/* owned: arguments that are paths of files */
};

/* ---- the list (gateway_tools.c) ------------------------------------------------------ */
struct gateways *gateways_new(struct engine *e);	/* owned; NULL without memory */
void gateways_free(struct gateways *g);
/* GATEWAY_TOOL: one more of those that the next GATEWAY_TOOLS is about. What cannot be shown is
 * left out, with a line in the log. json is an upstream's, hostile. */
void gateways_on_tool(struct gateways *g, const char *gateway, const char *tool,
    const char *json, uint64_t flags);
/* GATEWAY_TOOLS: n of them are all there are now. code and text: why there are none. */
void gateways_on_tools(struct gateways *g, const char *gateway, uint64_t n, uint64_t code,
    const char *text);
/* By the whole name; NULL if there is none. Borrowed until the list changes. */
struct gateway_tool *gateways_find(const struct gateways *g, const char *name);
/* Whether a name can only be that of a gateway's tool. */
bool gateway_is_name(const char *name);
enum ats_tool_class gateway_tool_class(const struct gateway_tool *t);
size_t gateways_count(const struct gateways *g);
/* The next tool in the order of the list, NULL: the first. */
struct gateway_tool *gateways_each(const struct gateways *g, const struct gateway_tool *after);
/* Asks the vault once for the tools of gateways that have told none yet. */
void gateways_want(struct gateways *g);
bool gateways_pending(const struct gateways *g);	/* one of them has not answered yet */
void gateways_too_late(struct gateways *g);	/* nobody waits for those any more */
bool gateways_all_told(const struct gateways *g);	/* nor is one asked still */
/* Appends an entry of tools/list, or with_limit of control.tools. */
void gateway_tool_write(struct ats_json_w *w, const struct gateway_tool *t, bool with_limit);
/* One reference more, or less. A tool that only the journal names has no JSON. */
struct gateway_tool *gateway_tool_hold(struct gateway_tool *t);
struct gateway_tool *gateway_tool_named(const char *name);	/* NULL without memory */
void gateway_tool_let_go(struct gateway_tool *t);		/* NULL is fine */
/* Looks whether args (a scanned object) have what the schema requires at its top. 0, or
 * -ATS_E_FIELD with a text for the model. */
ATS_NODISCARD int gateway_tool_check(const struct gateway_tool *t, struct ats_slice args,
    struct ats_err *err);

/* ---- calls (gateway_call.c) ---------------------------------------------------------- */
/* How far the vault is with a call. */
enum asked_state {
	ASKED_DUE,		/* not told yet: the socket is full */
	ASKED_TOLD,
	ASKED_WAITS,		/* for a person; its deadline stands still */
	ASKED_STARTED
};
struct asked {			/* what the vault was asked about a call */
	TAILQ_ENTRY(asked) link;	/* while something is owed to the vault */
	struct call *call;
	enum asked_state state;
	bool owes, cancel_due;
	char *tool, *args;		/* owned, while ASKED_DUE; NULL: those of the call */
	char approval[33];		/* id; "" none */
	uint64_t generation;		/* of the gateway that runs it */
	struct outcome *early;		/* owned: a result before its GATEWAY_STATE, or NULL */
};
/* A call of a gateway's tool (c->gateway): checked, journaled, asked for. c may be gone. */
void gateway_submit(struct call *c);
/* A rule says that a person decides whether this call of the sandbox may run: the vault is
 * asked. tool and args (a JSON object) are what the rule saw, and are shown; both are copied.
 * With 0 the caller is done with c: when it may, dispatch_submit goes on with c->permitted set;
 * else the vault's text ends it, perhaps at once. Negative: nothing was asked. */
ATS_NODISCARD int gateway_ask_person(struct call *c, const char *tool, struct ats_slice args,
    struct ats_err *err);
/* Of a call of the sandbox's that the journal has open, and about which the vault was asked. */
ATS_NODISCARD int gateway_resume_asked(struct call *c);
/* Who asked for a call asks again and brings its input: it goes on where it waited for that. c may
 * be gone. */
void gateway_asked_again(struct call *c);
/* A person has agreed: written down. */
void gateway_permitted(struct call *c);
/* What the vault said of a call is in the journal, where it belongs there. */
void gateway_answer_kept(struct engine *e, uint64_t call);
/* Its files are there (or it has none): the vault is asked. c may be gone. */
void gateway_go_on(struct call *c);
/* GATEWAY_STATE. */
void gateway_on_state(struct engine *e, uint64_t id, uint64_t state, uint64_t code,
    const char *text, const char *approval);
/* The vault's socket takes messages again. False: not all of what is owed. */
bool gateway_flush(struct engine *e);
/* A call in CALL_ASKED: its time is over, it is cancelled, forgotten. c may be gone. */
void gateway_timed_out(struct call *c);
void gateway_cancel(struct call *c);
void gateway_asked_free(struct call *c);	/* c->asked */
void gateway_call_done(struct call *c);	/* by call_drop: frees c->asked and c->gateway */
/* Its session is closed. c may be gone after it. */
void gateway_session_closed(struct call *c);
/* A call that the journal has open, of an engine before this one. */
ATS_NODISCARD int gateway_resume(struct call *c, const char *tool);
/* The vault has said all: those that it did not name end, soon. */
void gateway_resume_settle(struct calls *t);
/* Its result is safe: the gateway may forget it. */
void gateway_ack(struct call *c);
/* The link of this generation, or an older one, is gone. */
void gateway_lost(struct engine *e, const char *gateway, uint64_t generation);
/* The vault is gone, and this engine will be: what is known of each call goes into the journal. */
void gateway_vault_gone(struct engine *e);

/* ---- files of arguments (gateway_files.c) -------------------------------------------------- */
/* Reads those that a call of c->gateway names, in its session's sandbox, as Read would. False:
 * there are none. True: gateway_go_on follows, or the end of c, perhaps at once: c may be gone. */
bool gateway_files_read(struct call *c);
/* In memory, in the order of the tool's; borrowed. */
size_t gateway_files(const struct call *c, const int **ret);
/* Told, or not needed: closes them, ends what still reads. */
void gateway_files_done(struct call *c);

/* ---- links (gateway_link.c) ---------------------------------------------------------- */
struct ats_frame;
struct ats_msg_RESULT;
/* GATEWAY_LINK; takes fd. */
void gateway_links_on_fd(struct gateways *g, const char *gateway, uint64_t generation, int fd);
/* The newest generation whose link is here; 0 none. */
uint64_t gateway_links_generation(const struct gateways *g, const char *gateway);
/* Whether the link of this generation is still read. */
bool gateway_links_open(const struct gateways *g, const char *gateway, uint64_t generation);
void gateway_links_ack(struct gateways *g, const char *gateway, uint64_t call);
void gateway_links_free(struct gateways *g);
/* A RESULT or EVENT progress on a link of this gateway. Negative: it breaks the rules. */
ATS_NODISCARD int gateway_on_result(struct engine *e, const char *gateway,
    const struct ats_msg_RESULT *m, const struct ats_frame *f, struct ats_err *err);
ATS_NODISCARD int gateway_on_progress(struct engine *e, const char *gateway,
    const struct ats_msg_EVENT_PROGRESS *m, const struct ats_frame *f, struct ats_err *err);

/* ---- what is shown of them (gateway_shown.c) ------------------------------------------ */
/* Why the gateway that is called name[n] has no tools, as a clause for who called one. */
void gateways_why_none(const struct gateways *g, const char *name, size_t n, char *out,
    size_t size);
/* The members of each gateway for people: "gateways". */
void gateways_write(struct ats_json_w *w, const struct gateways *g);
/* How a call stands: "asked", "waiting" or "running". */
const char *gateway_state_name(const struct call *c);
/* Calls of this uid that wait for a person; of all. */
size_t gateway_waiting(const struct engine *e, uint64_t uid);
size_t gateway_waiting_all(const struct engine *e);
/* Sends control.tools to a sandbox that is ready, if there is something new to say. */
void gateways_tell_box(struct gateways *g, struct sandbox *box);

#endif
