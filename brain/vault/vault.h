/* SPDX-License-Identifier: Apache-2.0
 *
 * The vault: registrations, and the supervision of engine and sandboxes. What its files share, and
 * vault.c (life), engine.c and engine_tell.c (the engine's side), clients.c (vault.sock). It parses
 * no byte but typed messages, and the JSON of calls' arguments and of tools. */
#ifndef ATS_VAULT_VAULT_H
#define ATS_VAULT_VAULT_H

#include <stdint.h>
#include <sys/types.h>

#include "brain/vault/config.h"
#include "brain/vault/keys.h"
#include "brain/vault/outside.h"
#include "brain/vault/register.h"
#include "common/ipc.h"
#include "common/notify.h"
#include "common/workspace.h"

#define VAULT_MESSAGES_A_TURN 32	/* of one peer, then the others */
#define VAULT_STARTS 5			/* of the engine within ... */
#define VAULT_STARTS_MS 10000		/* ... this: then brain gives up */
#define VAULT_WATCH_MS 1000		/* between two questions to the engine, at least */
#define VAULT_ENGINE_COMES_S 60	/* an engine of the service manager; then brain gives up */
#define VAULT_WATCH_MISSED 3		/* so many of them in vain, then it is killed */

struct ats_acceptor;
struct audit;
struct box;
struct client;
struct credentials;
struct decide;
struct event;
struct event_base;
struct gateway;
struct http_door;
struct hook;
struct script;

struct engine {				/* what the vault knows of it */
	int fd;				/* -1: not running */
	struct event *rd, *wr, *restart, *watch;
	uint64_t asked;			/* ARE_YOU_THERE: the number of the last one */
	unsigned missed;		/* sent since it was last heard of */
	pid_t pid;
	bool ordered, ready, idle, settings_told, listen_told, trust_told, all_told, quit_told;
	uint64_t starts_ms[VAULT_STARTS];
	unsigned nstarts;		/* in all */
	size_t rules_told;		/* how many of conf->rules */
	size_t hooks_told;		/* and of conf->hooks */
	struct session *closed;		/* owned; SESSION_CLOSED is owed */
};

struct vault {
	struct event_base *base;
	const struct config *conf;
	const struct ats_places *places;
	const struct ats_homes *homes;
	char engine_dir[ATS_PATH_MAX];	/* its state directory */
	struct reg *reg;
	struct keys *keys;
	uid_t uid;
	int spawner, listener, door, ready_fd;
	struct ats_notify notify;
	int arrivals;			/* where hands come in, or -1 */
	char *ca_pem;			/* owned; of sandbox.tls_ca, or NULL */
	pid_t spawner_pid;
	struct ats_acceptor *acceptor;
	struct event *spawner_rd, *idle_timer, *stop_timer, *sig_int, *sig_term,
	    *alive_timer;
	struct engine engine;
	struct outside outside;
	struct box *boxes;
	size_t nboxes;
	struct script *scripts;
	size_t nscripts;
	uint64_t script_number;		/* of the last one */
	struct hook *hooks;		/* that run */
	size_t nhooks;
	uint64_t hook_number;		/* of the last one */
	struct credentials *credentials;
	struct gateway *gateways;	/* as many as the configuration has */
	size_t ngateways;
	struct http_door *http;		/* owned, or NULL: not configured */
	struct decide *decide;
	struct audit *audit;
	struct client *clients;
	size_t nclients;
	uint64_t started_ms;
	bool stopping, ever_ready;
	int exit_code;
	struct ats_ipc_msg msg;		/* the one being handled */
};

struct vault_fds {
	int spawner;
	pid_t spawner_pid;
	int listener, door, ready;
	int engine;			/* where an engine comes in, or -1 */
	uid_t engine_uid;
	struct ats_notify notify;
};
/* Takes the descriptors (ready may be -1). Orders the engine. Returns owned in *ret. */
ATS_NODISCARD int vault_new(const struct config *conf, const struct ats_places *places,
    const struct ats_homes *homes, const struct vault_fds *fds, struct vault **ret,
    struct ats_err *err);
/* Runs until the end; returns the exit code. */
int vault_run(struct vault *v);
void vault_free(struct vault *v);
/* Orderly end: engine, then spawner with everything it started. */
void vault_stop(struct vault *v, const char *why);
/* The end at once. */
void vault_die(struct vault *v, const char *why);
/* Looks whether nobody needs us; arms or disarms the idle timer. */
void vault_check_idle(struct vault *v);
/* The engine is gone: another one, or the next step of the stop. */
void vault_engine_exited(struct vault *v, uint64_t code, uint64_t sig);

/* engine.c */
ATS_NODISCARD int engine_order(struct vault *v, struct ats_err *err);
/* Takes fd, an engine's link; what it is owed can be sent. */
ATS_NODISCARD int engine_attach(struct vault *v, int fd, struct ats_err *err);
void engine_on_started(struct vault *v, const struct ats_ipc_msg *m);
void engine_on_exited(struct vault *v, uint64_t code, uint64_t sig);
/* It broke the rules, or does not take what it is sent: a fresh one takes over. */
void engine_kill(struct vault *v, const char *why);
void engine_free(struct vault *v);

/* engine_tell.c */
/* Sends what is owed until the socket is full; goes on when it is writable. */
void engine_sync(struct vault *v);
/* Takes s, which left the table: the engine is told if it knows of it. */
void engine_session_gone(struct vault *v, struct session *s);

/* clients.c */
ATS_NODISCARD int clients_listen(struct vault *v, struct ats_err *err);
/* Answers those that wait for the session. code 0: it is there. */
void clients_session_answer(struct vault *v, const char *id, int code, const char *text);
/* Answers those that wait for the credential: it was read, or cannot be. */
void clients_credential_answer(struct vault *v, const char *name);
void clients_free(struct vault *v);

#endif
