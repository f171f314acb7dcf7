/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the box: which situation it was built in, for whom, and which layers
 * were reached. Made by the launcher, completed by init, handed to the zygotes as one
 * argv word, read-only after that. */
#ifndef ATS_HANDS_CONFINE_BOX_H
#define ATS_HANDS_CONFINE_BOX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "hands/confine/budget.h"
#include "proto/tools.h"

enum box_situation {
	BOX_ROOT = 1,	/* real root: namespaces, view, own uids, idmapped workspace */
	BOX_USER,	/* user namespace, uid stays */
	BOX_UID,	/* root without namespaces: own uids, Landlock, seccomp */
	BOX_LANDLOCK,	/* nothing but Landlock and seccomp, the uid is hands' own */
	BOX_NONE	/* asked for in as many words: what is left of BOX_UID or BOX_LANDLOCK
			 * where Landlock is missing or too old. No boundary for files */
};
/* Layers and gaps, facts of this box: BOX_NETNS and so on, a bit each. */
#define BOX_FACTS(FACT)                                                                      \
	FACT(NETNS)                                                                          \
	FACT(LOOPBACK)                                                                       \
	FACT(PID_MAX)		/* per pid namespace (Linux 6.14) */                         \
	FACT(NO_USERNS)		/* max_user_namespaces is 0 inside */                        \
	FACT(IDMAP)                                                                          \
	FACT(GROUPS_KEPT)	/* gap: supplementary groups could not be dropped */         \
	FACT(SMALL)		/* limits=check */                                           \
	FACT(IPC_UTS)                                                                        \
	FACT(SCAN_PART)		/* gap: not all of the workspace was looked through */       \
	FACT(KEEP_PART)		/* gap: protected files are too large to be put back */      \
	FACT(UNWATCHED)		/* gap: inotify's limits are used up */                      \
	FACT(GIT_CONFIG)	/* asked for: shells may write .git/config */                \
	FACT(NET_HOST)		/* asked for: shells have the host's network */              \
	FACT(LISTENER)		/* calls of a command can be decided by its monitor */       \
	FACT(CG_MEMORY)		/* a cgroup bounds the sum of its memory */                  \
	FACT(CG_PIDS)		/* and of its processes */
enum box_fact_number {
#define FACT(name) BOX_NUMBER_##name,
	BOX_FACTS(FACT)
#undef FACT
};
enum box_fact {
#define FACT(name) BOX_##name = 1 << BOX_NUMBER_##name,
	BOX_FACTS(FACT)
#undef FACT
};

#define BOX_GRANTS_MAX 256
#define BOX_MASKS_MAX 256

struct ignore_rules;
struct box {
	enum box_situation situation;
	uint32_t facts;
	uid_t front_uid, worker_uid;
	gid_t front_gid, worker_gid;
	int landlock_abi;
	struct budget budget;	/* complete */
	char workspace[4096];	/* absolute, resolved; the same path inside */
	char git_dir[4096];	/* its repository where that lies elsewhere, or "" */
	char home[4096];	/* as the box sees it */
	char spill[4096];
	char tmp[4096];
	char sockets[4096];	/* box_has_own_sockets: what these are bound to */
	char tools[4096];	/* of the host: files and a socket of front's */
	char hands[4096];	/* this program, for commands to run, or "" */
	const struct ignore_rules *deny;	/* zygotes only; or NULL */
	/* launcher and init only */
	char state[4096];	/* host: holds home and spill */
	char exe[4096];		/* host: what becomes hands in a view, or "" */
	dev_t workspace_dev;	/* the directory that was asked for and looked at */
	ino_t workspace_ino;
	const char *grants[BOX_GRANTS_MAX];
	size_t ngrants;
	const char *masks[BOX_MASKS_MAX];	/* in them; see trees_mask */
	size_t nmasks;
};

bool box_has_namespaces(const struct box *b);
/* Front and workers have user ids of their own, neither root's nor the launcher's. */
bool box_has_uids(const struct box *b);
/* Commands have Unix sockets of their own although nothing keeps the host's apart: their monitor
 * decides (hands/worker/sockets.h), beside Landlock, which keeps them from what it has. */
bool box_has_own_sockets(const struct box *b);
/* Whether commands reach the socket by which tools of the host are asked for. */
bool box_has_relay(const struct box *b);
const char *box_level(const struct box *b); /* namespaces, uid+landlock, landlock, none */
/* home, spill, tmp, tools and sockets as the box sees them; without a view they lie in hands' state
 * directory. Needs situation and state. */
void box_set_places(struct box *b);
/* The fields that zygotes need as one word, and back. -ATS_E_INVAL. */
ATS_NODISCARD int box_to_word(const struct box *b, char *out, size_t size);
ATS_NODISCARD int box_from_word(struct box *ret, const char *word);

#endif
