/* SPDX-License-Identifier: Apache-2.0
 *
 * How init starts the other roles of ats-hands: argv[1], fixed descriptor numbers, user
 * and group numbers. Every role is an exec of the same static file; descriptors not named
 * here are closed by init.
 *
 * front's argv: ats-hands role-front --sandbox ID --workspace DIR --home DIR --retention
 * S
 *   --confinement JSON [--background NUMBER,SECONDS] [--heartbeat S] [--env K=V]...
 *   [--listen ADDR | --connect ADDR]    of the launcher, for TLS and WebSocket
 *   [--number N] [--init VERSION]    which front of this start it is; what init is
 *   --tools DIR --peers UID,UID [--hands FILE]    as workers see these; who may ask there
 *   The JSON is the vector with "verified":false; the self-test (JOB_SELFTEST in a worker of
 *   each profile) answers with the whole vector again, "verified" and "tests" filled in. */
#ifndef ATS_HANDS_INIT_ROLES_H
#define ATS_HANDS_INIT_ROLES_H

#include <stdint.h>

#define ROLE_FRONT "role-front"
#define ROLE_ZYGOTE "role-zygote"	/* argv[2]: read, write or shell */

/* front */
#define FRONT_FD_LINK 3		/* first connection; absent: closed, or O_PATH */
/* A listening Unix stream socket, or a SEQPACKET one by which the launcher passes those that it
 * accepted, one a datagram; absent as above. */
#define FRONT_FD_LISTEN 4
/* The byte that comes with such a one: who is at its other end. */
#define LINK_KIND_LOCAL 'l'	/* the kernel has told the launcher */
#define LINK_KIND_NETWORK 'n'	/* must be proven */
/* The byte that asks the dialer for one: how the one before it went. */
#define LINK_DIAL 'd'		/* there was none, or brain was never attached on it */
#define LINK_DIAL_KNOWN 'k'	/* brain was */
#define FRONT_FD_READ 5		/* zygote sockets, SEQPACKET, struct zygote_msg */
#define FRONT_FD_WRITE 6
#define FRONT_FD_SHELL 7
#define FRONT_FD_SPILL 8	/* the spill directory, front may create files in it */
#define FRONT_FD_INIT 9		/* SEQPACKET to init: EOF means end; see init_msg */

/* A pipe: the line of hands/key.h, the PEM texts of our certificate and its key and of the CAs of
 * brain's, each, also an empty one, with a NUL; absent as above. */
#define FRONT_FD_KEY 10
#define FRONT_FD_TOOLS 11	/* the directory of the host's tools, front writes files in it */
#define FRONT_FD_RELAY 12	/* listens there for those who ask for them; absent as above */

/* SEQPACKET to the front whose place this one takes (hands/front/record.h): then it has the
 * zygotes' sockets, the key and all else from there; absent as above. */
#define FRONT_FD_UPGRADE 13

/* zygotes */
#define ZYGOTE_FD_FRONT 3
#define ZYGOTE_FD_OOM 4		/* shell: the box's memory.events or memory.oom_control; absent as
				 * above */
#define ZYGOTE_FD_FORKS 5	/* shell: the box's pids.events */

/* Between init and front, datagrams. */
#define INIT_ZYGOTE 1u	/* init: a new socket of that zygote attached (SCM_RIGHTS) */
#define INIT_NEXT 2u	/* init: the new front was started; its socket attached */
#define INIT_REFUSED 3u /* init: it was not; code and text */
#define INIT_UPGRADE 4u	/* front: start another front */
#define INIT_CANCEL 5u	/* front: end the one that was started */
#define INIT_TAKEN 6u	/* the new front: it has all, and goes on when the old one has ended */
struct init_msg {
	uint32_t what;
	uint32_t profile;	/* enum ats_profile: READ, WRITE or SHELL */
	int32_t code;		/* ATS_E_* */
	char text[460];
};

/* Counts up with any change to what init, front, zygotes, workers and monitors say to each other
 * (this file, hands/job.h): a front of another file is one of the same number, or none. */
#define HANDS_INSIDE 1u

/* Where root starts the box: no process in it but the launcher and init is kernel uid 0. Workers
 * have a number of that many, see worker_id.h. */
#define ROLE_UID_FRONT 64000
#define ROLE_UID_WORKER 63000
#define ROLE_UID_WORKERS 1000

/* Seen from inside the box. */
#define BOX_HOME "/home/agent"
#define BOX_SPILL "/run/ats/spill"
#define BOX_TMP "/tmp"
#define BOX_TOOLS "/run/ats/tools"
#define BOX_HANDS "/run/ats/ats-hands"

#define STATE_TOOLS "tools"		/* BOX_TOOLS, in the state directory */
#define RELAY_SOCKET "relay.sock"	/* in it */

#endif
