/* SPDX-License-Identifier: Apache-2.0
 *
 * A relay directory served through brain's door. Process: atsctl relay. */
#ifndef ATS_CTL_RELAY_SERVER_H
#define ATS_CTL_RELAY_SERVER_H

#include "brain/ctl/relay_calls.h"
#include "brain/ctl/relay_dir.h"

#define RELAY_CALLS 64u		/* at once; further requests wait in the directory */
#define RELAY_RATE 500u		/* requests a second; as many at once after a pause */
#define RELAY_SPECS_NAME "tools.json"

struct relay_call {
	char id[ATS_RELAYDIR_ID_MAX + 1];	/* empty: a free place */
	char key[24];			/* its id at the door */
	uint64_t rpc;			/* of the request on this connection */
	uint64_t end_ms;
	bool cancelled, maybe;		/* maybe: sent on a connection that was lost */
	struct ats_buf params;		/* for another connection */
	struct ats_buf answer;		/* that could not be written yet, or empty */
};
struct relay_server {
	struct ctl *c;
	struct session_ask ask;
	struct ctl_session session;
	struct relay_dir dir;
	int specs_dir;			/* -1: none */
	char specs_name[200];		/* in there */
	struct ats_specs tools;
	bool listed;			/* tools are brain's */
	struct relay_ids ids;
	struct relay_call calls[RELAY_CALLS];
	size_t ncalls;
	struct ats_buf out;		/* lines for the engine */
	uint64_t list_rpc;		/* of an open tools/list, 0 none */
	bool list_again;
	double tokens;
	uint64_t tokens_ms;
	bool more;			/* in the directory: no waiting */
	uint64_t refused, stuck, said_ms;	/* requests since the log told of them */
};

/* ---- relay_door.c: the engine's side ---- */
/* Opens the session (again) and sends what a fresh connection must hear: handshake, tools/list,
 * open calls. Blocks until brain is there, 30 s at most. */
ATS_NODISCARD int relay_connect(struct relay_server *s, struct ats_err *err);
/* Sends what can be sent, reads what there is. -ATS_E_EOF: brain is lost; -ATS_E_NOMEM. */
ATS_NODISCARD int relay_door_step(struct relay_server *s, struct ats_err *err);
/* One call more, with params; there must be a place. */
ATS_NODISCARD int relay_submit(struct relay_server *s, const char *id, const char *key,
    struct ats_buf *params);
/* Cancels what nobody waits for any more. */
void relay_deadlines(struct relay_server *s);
/* Cancels all, answers all, and gives that a moment to leave. */
void relay_finish(struct relay_server *s);

/* ---- relay_serve.c: the directory's side ---- */
/* Takes requests, a turn's worth; sets s->more. -ATS_E_NOMEM. */
ATS_NODISCARD int relay_requests(struct relay_server *s);
/* Whether one more may be taken now. */
bool relay_has_room(const struct relay_server *s);
/* Until a token is there, when they are out; else -1. */
int relay_token_wait_ms(const struct relay_server *s);
/* Publishes, or keeps it in the call to be tried again. Frees the place when it is done. */
void relay_publish(struct relay_server *s, struct relay_call *call, struct ats_buf *text);
void relay_publish_error(struct relay_server *s, struct relay_call *call, const char *why);
/* Once a second: answers that could not be written, those nobody fetched, the log. */
void relay_tick(struct relay_server *s);
/* Writes the specs file, or removes it when there are no tools. */
ATS_NODISCARD int relay_write_specs(struct relay_server *s, struct ats_err *err);
void relay_remove_specs(const struct relay_server *s);

/* ---- relay_confine.c ---- */
/* From here on only this directory, the specs' one and brain's sockets. -ATS_E_CONFINE. */
ATS_NODISCARD int relay_confine(const struct relay_server *s, struct ats_err *err);
#define RELAY_FILTER_TABLES 3
struct ats_seccomp_table;
extern const struct ats_seccomp_table *const relay_filter[RELAY_FILTER_TABLES];

#endif
