/* SPDX-License-Identifier: Apache-2.0
 *
 * One sandbox per (uid, workspace): its states from none to ready to lost and back. */
#ifndef ATS_ENGINE_SANDBOX_H
#define ATS_ENGINE_SANDBOX_H

#include <stdint.h>

#include "brain/engine/call.h"
#include "brain/engine/proof.h"
#include "brain/engine/relay.h"
#include "common/addr.h"

struct ats_chan;
struct ats_map;
struct ats_tls;
struct event;
struct provided;
struct upgrade;

enum sandbox_state {
	SANDBOX_NONE,		/* not wanted, or given up */
	SANDBOX_BACKOFF,	/* waits before the next try */
	SANDBOX_STARTING,	/* the vault was asked */
	SANDBOX_HELLO,		/* connected, not ready */
	SANDBOX_READY,
	SANDBOX_DYING,		/* lost; waits for the vault's word that it ended */
};

struct hands_program {			/* what hands says that it is: its own word */
	char version[33], build[65];	/* of front; or "" */
	char init[33];			/* version of init and the workers; or "" */
	uint64_t fronts;		/* that there were since its start; 0: not said */
};

struct sandbox {
	struct engine *e;
	char id[33];
	uint64_t uid;
	char *workspace;		/* owned */
	enum sandbox_state state;
	uint64_t generation, exited_generation;
	size_t nsessions;
	/* link */
	struct ats_chan *chan;		/* NULL when there is none */
	bool hello_done;
	bool resuming;			/* calls wait for the hands that we had, gone perhaps */
	char boot[33];			/* of hands that we talk to */
	uint64_t epoch, ping_seq;
	struct link_key key;
	struct proof proof;		/* of this link; not wanted but over a network */
	enum ats_addr_kind kind;	/* of a link that wants proof */
	struct ats_tls *tls;		/* of the link or of the last one, or NULL */
	bool pin_previous;		/* TLS key by the generation before, for the next try */
	bool take_over;			/* by people's order: hello says so once */
	bool displaced;			/* another brain has it: only by order taken back */
	struct ats_buf arena, delta_arena;	/* decoding frames; deltas in them */
	struct ats_buf json, ctx;	/* encoding */
	struct ats_map *sent;		/* id -> call */
	struct ats_map *ghosts;		/* ids hands has that nobody here knows; value: box */
	size_t abandoned, execs;
	/* calls */
	struct call_list queue;
	size_t nqueue;
	/* life */
	struct event *timer;		/* of the state: start, back-off, dying, heartbeat */
	struct event *retry;		/* the channel was full */
	unsigned failures;		/* in a row */
	uint64_t losses;		/* in all */
	uint64_t ready_us, lost_us;
	char *confinement;		/* owned JSON of READY, or NULL */
	struct hands_program program;	/* of READY */
	struct upgrade *upgrade;	/* under way, or NULL: then no call is sent */
	int last_code;
	char last_error[1024];
	struct provided *provided;	/* of scripts (provider.c), or NULL */
	struct relay relay;		/* calls that programs in it ask for */
	bool may_have_hooks;		/* of READY */
	uint64_t hook_events;		/* that its workspace may have hooks for */
	bool tools_due, tools_told;	/* control.tools is to be sent; was, once */
	bool stay_down;			/* ended by request: starts again with the next call only */
};

struct sandboxes *sandboxes_new(struct engine *e);	/* owned; NULL without memory */
void sandboxes_free(struct sandboxes *t);
/* Borrowed; NULL: there is none of that id. */
struct sandbox *sandboxes_find(const struct sandboxes *t, const char *id);
/* All of them, for pos from 0 on; borrowed, NULL behind the last. */
struct sandbox *sandboxes_each(const struct sandboxes *t, size_t *pos);
/* Finds or makes it; -ATS_E_EXISTS when uid or workspace differ. Counts one session. */
ATS_NODISCARD int sandboxes_use(struct sandboxes *t, const char *id, uint64_t uid,
    const char *workspace, struct sandbox **ret, struct ats_err *err);
/* One session less; the last one ends the sandbox. */
void sandboxes_unuse(struct sandbox *box);

/* The end of the log of hands, or of the command that reaches it: bytes of theirs. Returns how
 * many. */
size_t sandbox_log_tail(const struct sandbox *box, char *out, size_t size);
/* Its last line, quoted; empty when there is none since the last start. */
void sandbox_last_words(const struct sandbox *box, char *out, size_t size);
const char *sandbox_state_name(enum sandbox_state state);	/* static */
/* Starts it unless it is there or under way. */
void sandbox_want(struct sandbox *box);
/* The vault's answers. fd is taken. address: see link_start. */
void sandbox_on_fd(struct sandbox *box, uint64_t generation, int fd, const char *address);
void sandbox_on_failed(struct sandbox *box, int code, const char *text);
void sandbox_on_alive(struct sandbox *box, uint64_t generation, const char *path);
void sandbox_on_exited(struct sandbox *box, uint64_t generation);
/* Its keys have changed. With none a link that was proven by one ends. */
void sandbox_key_changed(struct sandbox *box);
/* A hands that came in and has proven to be this sandbox: takes channel and proof, which end the
 * link that is there if that is its own or silent. -ATS_E_BUSY: they are the caller's still. */
ATS_NODISCARD int sandbox_on_arrival(struct sandbox *box, struct ats_chan *c, struct proof *p,
    enum ats_addr_kind kind);
/* From the link: ready, or lost (the channel is freed by this). code is positive. */
void sandbox_on_ready(struct sandbox *box);
void sandbox_lost(struct sandbox *box, int code, const char *why);
/* From the link: another hands than before answers; what the last one had is lost. */
void sandbox_replaced(struct sandbox *box);
/* People's orders: end it now (it starts again with the next call), or also start it. */
void sandbox_kill(struct sandbox *box, bool restart);
/* Attach again, and end who is attached there. -ATS_E_INVAL: not a sandbox elsewhere. */
ATS_NODISCARD int sandbox_take_over(struct sandbox *box, struct ats_err *err);

#endif
