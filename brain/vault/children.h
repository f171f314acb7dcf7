/* SPDX-License-Identifier: Apache-2.0
 *
 * The spawner's table of children, and how each kind of child is started. */
#ifndef ATS_VAULT_CHILDREN_H
#define ATS_VAULT_CHILDREN_H

#include <stddef.h>
#include <sys/types.h>

#include "common/path.h"

#define CHILD_ENGINE "engine"
#define CHILD_SCRIPT "script-"		/* and a number */
#define CHILD_GATEWAY "gateway-"	/* and its name */
#define CHILD_CREDENTIAL "credential-"	/* and its name */
#define CHILD_HTTP "http"
#define CHILD_HOOK "hook-"		/* and a number */
#define CHILD_ID_MAX 48
#define CHILD_LOG_MARK "ats-brain: the command is started\n"
#define CHILDREN_MAX 1100		/* over limits.sandboxes */

struct ats_child;
struct config;
struct credential_source;
struct gateway_source;

enum child_env { ENV_COMMAND = 1, ENV_GATEWAY = 2, ENV_CREDENTIAL = 4, ENV_HOOK = 8 };
struct child {
	char id[CHILD_ID_MAX];
	pid_t pid;
	int pidfd;
	bool group;			/* a command of the user's: ends with all of its group */
	bool leaves;			/* but after success what it started goes on */
	bool keeper;			/* of a hook (keeper.h): SIGTERM ends both */
	int dial;			/* where a dialer leaves its result (dialer.h); else -1 */
	struct child *next;
};
struct child_command {			/* of the user's; all borrowed */
	const char *id;			/* of the child */
	const char *box;		/* whose log its stderr is; NULL: brain's */
	const char *const *argv;
	bool leaves;			/* as in struct child */
};
struct children {
	const struct ats_places *places;
	struct child *first;
	size_t n;
};

void children_init(struct children *k, const struct ats_places *places);
struct child *children_find(struct children *k, const char *id);	/* borrowed, or NULL */
/* One to be filled and added, or freed: -ATS_E_EXISTS when there is one of this id, -ATS_E_FULL,
 * -ATS_E_NOMEM. Added it is the table's. */
ATS_NODISCARD int children_new(struct children *k, const char *id, struct child **ret,
    struct ats_err *err);
void children_add(struct children *k, struct child *c);
/* After it was waited for: closes, removes its socket, frees. */
void children_forget(struct children *k, struct child *c);
void children_unlink_socket(const struct children *k, const char *id);
/* Descriptors are borrowed. */
ATS_NODISCARD int children_start_engine(struct children *k, int door_fd, int vault_fd,
    int log_fd, pid_t *ret_pid, struct ats_err *err);
/* options: name=value lines. Makes the sandbox's directories, its log, the socketpair and
 * the listening socket; *ret_link is brain's end of the link, owned. */
ATS_NODISCARD int children_start_hands(struct children *k, const char *id,
    const char *workspace, const char *options, pid_t *ret_pid, int *ret_link,
    struct ats_err *err);
/* Runs it as it is, in a session of its own, with a clean environment. Its stdin and stdout are the
 * link; *ret_link is brain's end, owned. */
ATS_NODISCARD int children_start_command(struct children *k, const struct child_command *what,
    pid_t *ret_pid, int *ret_link, struct ats_err *err);
/* Credentials and gateways: what is run is the configuration's. stderr is brain's log; vault_fd
 * is the descriptor 3 of ats-gateway, out_fd where the command prints. */
ATS_NODISCARD int children_start_gateway(struct children *k, const struct gateway_source *g,
    int vault_fd, pid_t *ret_pid, struct ats_err *err);
ATS_NODISCARD int children_start_credential(struct children *k,
    const struct credential_source *s, int out_fd, int err_fd, pid_t *ret_pid, struct ats_err *err);
/* ats-http as the configuration says; vault_fd is its descriptor 3. */
ATS_NODISCARD int children_start_http(struct children *k, const struct config *conf,
    int vault_fd, pid_t *ret_pid, struct ats_err *err);
/* What of the spawner's environment a child of that kind gets. Valid until the next call. */
const char *const *children_env(enum child_env who);
/* For what starts a child: in what, the path, argv and descriptors are the caller's; group and
 * leaves as in struct child. The second finds a program of ours by its name, and gives it an empty
 * environment where there is none. */
ATS_NODISCARD int children_start(struct children *k, const char *id,
    const struct ats_child *what, bool group, bool leaves, pid_t *ret_pid, struct ats_err *err);
ATS_NODISCARD int children_start_own(struct children *k, const char *id,
    const struct ats_child *what, const char *program, pid_t *ret_pid, struct ats_err *err);
void children_signal(const struct child *c, int sig);
/* Whether it has ended; then what remains of its group does, too, and it was waited for. */
bool children_wait(const struct child *c, int *ret_status);
/* RUNTIME/sb-ID.sock. */
ATS_NODISCARD int children_socket_path(const struct ats_places *places, const char *id,
    char *out, size_t size);

#endif
