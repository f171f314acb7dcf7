/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting a job's command. Runs in monitors; the strings are a model's, front has checked
 * their form and this checks it again. */
#include "hands/worker/command.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "hands/worker/shell.h"
#include "hands/worker/warm.h"

#define READY_COMMAND_MAX 4096	/* longer ones start cold */
#define READY_FIELDS_MAX (32u << 10)
#define FIELDS_ORDINARY 4096u
#define STRING_MAX ((128u << 10) - 1)	/* bytes of one argument of execve */
#define PIECES_MAX 9u			/* "$1" to "$9": a little more than a MiB */

/* What a waiting bash would answer differently from a bash -c. */
static bool
is_told_apart(const char *command)
{
	return strstr(command, "BASH_EXECUTION_STRING") != NULL ||
	       strstr(command, "$_") != NULL || strstr(command, "${_") != NULL;
}

static bool
wants_cold(const struct monitor *m)
{
	const struct job_head *h = &m->job.head;

	return m->command < 0 || h->extra_len > READY_COMMAND_MAX ||
	       h->json_len > READY_FIELDS_MAX - READY_COMMAND_MAX - 64 ||
	       (h->flags & (JOB_EXEC | JOB_STDIN | JOB_INPUT | JOB_COLD | JOB_TTY |
			      JOB_SELFTEST)) != 0 ||
	       is_told_apart(m->job.extra) ||
	       waitpid(m->shell, NULL, WNOHANG) != 0;
}

/* How many of the job's first strings the waiting bash was started with. Not those after another:
 * of two with one name the later counts. */
static size_t
strings_had(const struct monitor *m)
{
	size_t n = 0;

	while (n < m->nstrings && n < m->z->nenv && strcmp(m->strings[n], m->z->env[n]) == 0)
		n++;
	return n;
}

static char fields[READY_FIELDS_MAX] WARM_PAGES;

void
command_warm(struct monitor *m)
{
	warm_bytes(fields, FIELDS_ORDINARY);
	if (m->fields >= 0)
		(void)fallocate(m->fields, FALLOC_FL_KEEP_SIZE, 0, FIELDS_ORDINARY);
}

static int
run_ready(struct monitor *m)
{
	bool elsewhere = !m->in_workspace || strcmp(m->cwd, m->z->box->workspace) != 0;
	size_t n = 0, len = elsewhere ? strlen(m->cwd) : 0;

	if ((m->job.head.flags & JOB_MERGE) == 0)
		fields[n++] = 's';
	fields[n++] = '\0';
	memcpy(fields + n, m->cwd, len);
	n += len;
	fields[n++] = '\0';
	memcpy(fields + n, m->job.extra, (size_t)m->job.head.extra_len + 1);
	n += (size_t)m->job.head.extra_len + 1;
	for (size_t i = strings_had(m); i < m->nstrings; i++) {
		len = strlen(m->strings[i]) + 1;
		memcpy(fields + n, m->strings[i], len);
		n += len;
	}
	if (pwrite(m->fields, fields, n, 0) != (ssize_t)n || write(m->command, "", 1) != 1)
		return -ATS_E_SYS;
	/* Both stay open: who closes the last descriptor gives back what is behind it, and that
	 * would be the bash, before it comes to its command. */
	return 0;
}

void
command_drop_waiting(struct monitor *m)
{
	if (m->command < 0)
		return;
	(void)kill(m->shell, SIGKILL);
	(void)waitpid(m->shell, NULL, 0);
	ats_fd_close(&m->command);
	ats_fd_close(&m->fields);
	ats_fd_close(&m->tree.ender_sock);
	own_sockets_close(&m->sockets);
}

/* A command as the arguments of the shell that runs it. The kernel takes no string of more than
 * STRING_MAX bytes (MAX_ARG_STRLEN, with its NUL): a longer command comes in pieces, put together
 * by a text that leaves nothing of itself behind and evaluates the command on line 1. As said
 * for the waiting bash, only the prefix of a syntax error tells it from a -c. What POSIX calls
 * sh gets no variable instead: the pieces are gone when the command's own first word runs. */
static int
shell_argv(const struct monitor *m, const char **argv, struct ats_err *err)
{
	static const char join_bash[] =
	    "BASH_EXECUTION_STRING=$1$2$3$4$5$6$7$8$9;set --;: \"$0\";"
	    "eval \"$BASH_EXECUTION_STRING\"";
	static const char join_sh[] = "eval \"set --;$1$2$3$4$5$6$7$8$9\"";
	static char pieces[PIECES_MAX][STRING_MAX + 1];
	const char *p = m->job.extra;
	size_t n = 0, left = strlen(p);

	/* Where there is neither, the one that is missed is the one to name. */
	argv[n++] = m->z->has_bash || access("/bin/sh", X_OK) < 0 ? "bash" : "sh";
	argv[n++] = "-c";
	if (left <= STRING_MAX) {
		argv[n++] = p;
		return 0;
	}
	if (left > PIECES_MAX * STRING_MAX)
		return ats_err_set(err, ATS_E_TOOBIG, "a command of %zu bytes; %u are possible",
		    left, PIECES_MAX * STRING_MAX);
	argv[n++] = m->z->has_bash ? join_bash : join_sh;
	argv[n++] = argv[0];
	for (size_t i = 0; left > 0; i++) {
		size_t len = left < STRING_MAX ? left : STRING_MAX;

		memcpy(pieces[i], p, len);	/* static: its NUL is there */
		argv[n++] = pieces[i];
		p += len;
		left -= len;
	}
	return 0;
}

static int
run_cold(struct monitor *m, struct ats_err *err)
{
	static const char *argv[JOB_EXTRA_MAX / 256];
	static struct shell_env env;
	const uint32_t flags = m->job.head.flags;
	struct shell_plan p = { .argv = argv,
		.env = env.v,
		.in = -1,
		.out = m->out[1],
		.err = flags & JOB_MERGE ? m->out[1] : m->err[1],
		.command = -1,
		.tty = -1 };
	int rc = 0;

	command_drop_waiting(m);
	shell_env_make(&env, m->z->box, m->cwd, m->strings, m->nstrings);
	if ((flags & JOB_EXEC) != 0) {
		if (job_argv(&m->job, argv, ATS_ARRAY_LEN(argv)) == 0)
			return ats_err_set(err, ATS_E_INVAL, "exec: no program given");
	} else if ((rc = shell_argv(m, argv, err)) < 0) {
		return rc;
	}
	if ((flags & JOB_STDIN) != 0)
		p.in = m->in[0];
	else if ((flags & JOB_INPUT) != 0)
		p.in = m->input;
	if ((flags & JOB_TTY) != 0)
		rc = tty_open(&m->tty, m->in[0], m->out[1], m->job.head.rows,
		    m->job.head.cols, &p.tty, err);
	if (rc == 0)
		rc = shell_start(m->z, &p, &m->tree, &m->sockets, &m->shell, err);
	ats_fd_close(&p.tty);
	return rc;
}

/* After this only the call's processes hold the pipes, so that front sees their end. */
static void
drop_pipes(struct monitor *m)
{
	bool tty = m->tty.master >= 0;

	ats_fd_close(&m->err[1]);
	if (!tty)
		ats_fd_close(&m->out[1]);
	if (!tty)
		ats_fd_close(&m->in[0]);
	ats_fd_close(&m->input);
}

int
command_begin(struct monitor *m, struct ats_err *err)
{
	int rc = job_strings(&m->job, &m->cwd, m->strings, SHELL_ENV_MAX - 16, &m->nstrings);

	if (rc < 0)
		return ats_err_set(err, -rc, "job: bad strings");
	if ((m->job.head.flags & JOB_INPUT) != 0 && m->input < 0)
		return ats_err_set(err, ATS_E_PROTO, "job: its input did not come along");
	if (chdir(m->cwd) < 0) {
		m->exit.flags |= EXIT_CWD_GONE;
		m->cwd = m->z->box->workspace;
		if (chdir(m->cwd) < 0)
			return ats_err_sys(err, "chdir(%s)", m->cwd);
	}
	rc = wants_cold(m) ? run_cold(m, err) : run_ready(m);
	drop_pipes(m);
	return rc;
}
