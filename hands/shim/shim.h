/* SPDX-License-Identifier: Apache-2.0
 *
 * The shim: an MCP server on stdin and stdout, for an agent in the sandbox, whose tools are the
 * host's. What its parts share:
 *   main.c          start, signals, stdin, the end
 *   rpc.c           what a line is
 *   methods.c       what is answered to it
 *   out.c           stdout
 *   calls.c         calls under way, and their results as MCP has them
 *   relay_socket.c  the way to the host by front's socket
 *   relay_dir.c     the way by a directory */
#ifndef ATS_HANDS_SHIM_SHIM_H
#define ATS_HANDS_SHIM_SHIM_H

#include <stdint.h>

#include "common/json.h"
#include "proto/specs.h"

#define SHIM_CALLS 64u			/* under way */
#define SHIM_LINE (16u << 20)		/* a line from the client, at most */
#define SHIM_ARGUMENTS (1u << 20)	/* of a call */
#define SHIM_ID 1024u			/* bytes of a request's id, as JSON */
#define SHIM_RESULT (8u << 20)		/* a line to the client, at most */

struct event_base;
struct out;
struct shim;

struct shim_call {
	struct shim_call *next;
	uint64_t number;	/* ours, from 1 */
	char *id;		/* the request's, as JSON */
	char *token;		/* of progress, as JSON; or NULL */
	uint64_t progress;	/* notifications sent */
	bool cancelled;		/* by the client, which wants no answer */
	uint64_t until_ms;	/* relay_dir.c */
};

/* A way to the host. */
struct shim_way {
	const char *name;
	/* -1 after one line on stderr: it cannot be gone. */
	int (*open)(struct shim *s, const char *place);
	/* Answers later, by a shim_call_ function; or now. args: an object. */
	void (*call)(struct shim *s, struct shim_call *c, const struct ats_spec *spec,
	    struct ats_slice args);
	/* The client wants no answer. */
	void (*cancel)(struct shim *s, struct shim_call *c);
	/* What is under way is given up. */
	void (*close)(struct shim *s);
};
extern const struct shim_way shim_by_socket, shim_by_directory;

struct shim {
	struct event_base *base;
	struct out *out;
	const struct shim_way *way;
	void *host;		/* the way's own */
	struct ats_specs specs;
	bool initialized;	/* the client hears of changes */
	struct shim_call *calls;
	unsigned ncalls;
	uint64_t numbers;
	int status;		/* of the exit */
};

/* The role: argv[0] is "shim". Returns the exit status. */
int shim_main(int argc, char **argv);
/* Ends the loop. text, if not NULL, goes to stderr, and the status is 1. */
void shim_end(struct shim *s, const char *text);
/* The client, which was not read while it did not read, is read again. */
void shim_read_on(struct shim *s);

/* ---- methods.c ----------------------------------------------------------------------- */
/* One line of the client's, without its end; answers it, if that is due. */
void shim_line(struct shim *s, const char *line, size_t n);
void shim_line_too_long(struct shim *s);
/* Other tools than before: takes specs; or, with NULL, perhaps (the host was away). */
void shim_tools_changed(struct shim *s, struct ats_specs *specs);

/* ---- calls.c ------------------------------------------------------------------------- */
/* Returns borrowed, or NULL (no memory). id and token are JSON; token.p may be NULL. */
struct shim_call *shim_call_new(struct shim *s, struct ats_slice id, struct ats_slice token);
struct shim_call *shim_call_find(const struct shim *s, uint64_t number);
struct shim_call *shim_call_of(const struct shim *s, struct ats_slice id);
/* Each answers, unless it was cancelled, and frees the call. text: any bytes. */
void shim_call_text(struct shim *s, struct shim_call *c, bool is_error, const char *text,
    size_t n);
/* text: a JSON string with its quotes. */
void shim_call_raw(struct shim *s, struct shim_call *c, bool is_error, struct ats_slice text);
/* blocks: as a RESULT frame has them, or empty, over payload. */
void shim_call_blocks(struct shim *s, struct shim_call *c, bool is_error,
    struct ats_slice blocks, const char *payload, size_t n);
/* All of them, with one text. */
void shim_calls_fail(struct shim *s, const char *text);
/* Without an answer. */
void shim_call_drop(struct shim *s, struct shim_call *c);
void shim_call_progress(struct shim *s, struct shim_call *c, const char *message);

#endif
