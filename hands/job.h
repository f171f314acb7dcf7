/* SPDX-License-Identifier: Apache-2.0
 *
 * The private sockets inside hands. All are fixed structs in host byte order: both ends are
 * the same file (the stated exception to "no C struct on a wire").
 *
 * front <-> zygote: SOCK_SEQPACKET. front asks for workers, the zygote answers with one
 * datagram a worker, the worker's descriptors attached.
 * front <-> worker/monitor: SOCK_STREAM made by the zygote, one job, then both end. */
#ifndef ATS_HANDS_JOB_H
#define ATS_HANDS_JOB_H

#include <stdint.h>

#define ZYGOTE_WANT 1u		/* front: make count workers */
#define ZYGOTE_WORKER 2u	/* zygote: one worker; fds: [0] job socket; shell profile also
				 * [1] stdout read end, [2] stderr read end, [3] stdin write end */
#define ZYGOTE_FAILED 3u	/* zygote: could not make one; code and step */
#define ZYGOTE_KILL 4u		/* front: SIGKILL the worker of this serial (pidfd) */
#define ZYGOTE_GONE 5u		/* zygote: that worker was reaped */

struct zygote_msg {
	uint32_t what;
	uint32_t count;		/* WANT */
	uint64_t serial;	/* WORKER, KILL, GONE: number of the worker, never reused */
	int32_t status;		/* GONE: wait status; FAILED: ATS_E_* */
	uint32_t flags;		/* WANT for shell: JOB_* that must be known at preparation */
	char step[192];		/* FAILED: the confinement step and what it says */
};

/* front -> worker. json is the CALL's JSON text (checked by front), extra is data that front
 * adds (BashOutput: new output), then nothing more. For the shell profile: */
#define JOB_MERGE 1u		/* stderr goes where stdout goes, in exact order */
#define JOB_EXEC 2u		/* argv instead of a command: extra holds NUL-separated strings */
#define JOB_STDIN 4u		/* keep the stdin pipe; else /dev/null */
#define JOB_COLD 8u		/* do not use the ready bash */
#define JOB_TTY 16u
#define JOB_SELFTEST 32u	/* run the confinement self-test, result text is its report */
#define JOB_VALIDATE 64u	/* only the tool's checks; the json is a CALL_VALIDATE's */
#define JOB_HOOKS 256u		/* the list of the workspace's hooks; the json is a CALL_HOOK's */
#define JOB_INPUT 128u		/* stdin is the descriptor that comes with the head */
struct job_head {
	uint32_t json_len;
	uint32_t extra_len;
	uint64_t call;
	uint64_t deadline_us;	/* CLOCK_MONOTONIC, 0 none */
	uint32_t flags;
	uint16_t rows, cols;
};
/* For the shell profile the json of a JOB is replaced by NUL-terminated strings:
 * cwd, then n environment strings "K=V", then an empty string; extra: command or argv. */

/* worker -> front: json of a RESULT (or EVENT_PROGRESS) as ats_msg_encode made it, then
 * payload. front decodes it again before it passes it on. */
#define REPLY_RESULT 1u
#define REPLY_PROGRESS 2u
#define REPLY_EXIT 3u		/* monitor: the shell ended; struct job_exit follows */
#define REPLY_DATA 5u		/* worker: the read end of a pipe comes with it (SCM_RIGHTS): what
				 * the tool gives raw; before the RESULT, once, when asked for */
#define REPLY_STARTED 4u	/* monitor: the command runs; not sent now: it would wake front
				 * once more on the way of every call */
#define REPLY_RENDER 6u		/* read worker: the result, but its content is still to be drawn, of
				 * the descriptor that comes along; payload: struct render_ask,
				 * then the document's path */
#define REPLY_TEXT 7u		/* worker: a part of the content, no json, before the RESULT, whose
				 * own payload, if it has one, stands in place of all of them */
struct reply_head {
	uint32_t what;
	uint32_t json_len;
	uint32_t payload_len;
	uint32_t zero;
};
struct render_ask {
	uint64_t first, last;	/* pages, from 1 */
	uint64_t pages;		/* that the document seems to have, 0 unknown */
	uint64_t size;		/* bytes of the document */
};
/* job_exit.flags */
#define EXIT_SECCOMP 1u		/* the filter killed something */
#define EXIT_OOM 2u		/* it failed, and the kernel was out of memory meanwhile */
#define EXIT_PIDS 4u		/* no process could be made, at some moment */
#define EXIT_CWD_GONE 8u	/* the job's cwd was not there: the workspace root was used */
#define EXIT_QUARANTINE 32u	/* protected names were made, and moved aside */
#define EXIT_CWD_REMOVED 16u	/* where the shell ended is no directory any more */
#define EXIT_OOM_BOX 64u	/* with EXIT_OOM: of this box, as its cgroup counts */
#define EXIT_DISK 128u		/* workspace and home hold more than they may */
#define EXIT_STAYS 512u		/* a protected name cannot be put back: the box ends */
#define EXIT_CPU 256u		/* killed after all the processor time a process may use */
/* front -> monitor after the job */
#define MONITOR_TERM 1u		/* SIGTERM to all */
#define MONITOR_KILL 2u		/* SIGKILL to all and end */
#define MONITOR_SIGNAL 3u	/* arg: signal to the foreground group */
#define MONITOR_RESIZE 4u	/* arg: rows << 16 | cols */
struct monitor_msg {
	uint32_t what;
	uint32_t arg;
};
struct job_exit {
	int32_t status;		/* wait status of the shell */
	uint32_t survivors;	/* processes killed after the grace time */
	uint32_t flags;		/* EXIT_* */
	uint32_t data_mb;	/* what one process might hold, 0 unlimited, or status is 0 */
	uint64_t disk_mib, disk_max_mib;	/* EXIT_DISK */
	uint64_t utime_us, stime_us, maxrss_kb;
	char cwd[4096];		/* where the shell ended, "" unknown */
	char names[256];	/* comm of survivors, comma-separated */
};

#endif
