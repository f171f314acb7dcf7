/* SPDX-License-Identifier: Apache-2.0
 *
 * What init.c, init_roles.c and next.c share; nobody else includes this. */
#ifndef ATS_HANDS_INIT_INIT_PRIVATE_H
#define ATS_HANDS_INIT_INIT_PRIVATE_H

#include "hands/init/init.h"

#define ZYGOTES 3		/* READ, WRITE, SHELL: the first of enum ats_profile */

struct init {
	const struct init_plan *plan;
	struct box box;
	int spill, tools;
	int front_sock;		/* our end of FRONT_FD_INIT; -1: the front has closed it */
	int socks[ZYGOTES];	/* the zygotes' ends until they are started */
	int signals;
	pid_t front, zygotes[ZYGOTES];
	unsigned fronts;	/* how many were started */
	pid_t next;		/* the new front, or 0 */
	int next_sock;		/* of it, as front_sock */
	bool next_wanted;	/* the launcher was asked for its file */
	bool untold[ZYGOTES];	/* started again when it was not known who would be the front */
	unsigned restarts;
	uint64_t restarts_since_ms, end_by_ms;
};

extern const char *const init_profile_names[ZYGOTES];

/* ---- init_roles.c */
/* Both ends of what front and a zygote speak over, owned. -ATS_E_SYS. */
ATS_NODISCARD int init_zygote_socket(int *ret_front, int *ret_zygote);
/* sock is borrowed. -ATS_E_SYS. */
ATS_NODISCARD int init_start_zygote(struct init *in, unsigned profile, int sock);
/* All of them, over in->socks, which are closed; before that the base filter, for ever. */
ATS_NODISCARD int init_start_zygotes(struct init *in, struct ats_err *err);
/* The first front. The zygotes' sockets exist before the zygotes do, so that it need not wait for
 * them: in->socks. */
ATS_NODISCARD int init_start_greeter(struct init *in, struct ats_err *err);
/* Starts a front of exe. socks: the zygotes' sockets, or NULL; upgrade: of FRONT_FD_UPGRADE, or
 * -1. Both are borrowed. *ret_sock is our end of FRONT_FD_INIT. Negative: no. */
pid_t init_start_front(struct init *in, int exe, const int socks[ZYGOTES], int upgrade,
    int *ret_sock);

#endif
