/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl top: what runs and what ran last; on a terminal again each second until q, Ctrl-C or the
 * terminal's end. Process: atsctl. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "brain/ctl/brain.h"
#include "brain/ctl/output.h"
#include "brain/ctl/streams.h"
#include "brain/ctl/top_screen.h"

#define EACH_MS 1000
#define TEXT_MAX (8u << 20)

static struct termios saved;
static volatile sig_atomic_t ends;	/* a signal that says so has come */

struct look {			/* owned texts; empty: brain does not run */
	struct ats_buf status, ended;
};

static void
look_done(struct look *l)
{
	ats_buf_done(&l->status);
	ats_buf_done(&l->ended);
}

static int
ask(struct door *d, const char *method, struct ats_buf *out, struct ats_err *err)
{
	struct door_msg m;
	int rc = door_call(d, method, NULL, &m, err);

	ats_buf_reset(out);
	if (rc == 0 && ats_buf_add(out, m.result.p, m.result.n) < 0)
		rc = ats_err_set(err, ATS_E_TOOBIG, "top: brain's answer is too large");
	return rc;
}

static int
take_look(struct ctl *c, struct look *l, struct ats_err *err)
{
	struct door d = { .fd = -1 };
	int rc = brain_door(c, &d, err);

	ats_buf_init(&l->status, TEXT_MAX);
	ats_buf_init(&l->ended, TEXT_MAX);
	if (rc == 0)
		rc = ask(&d, "ats/status", &l->status, err);
	if (rc == 0)
		rc = ask(&d, "ats/calls.ended", &l->ended, err);
	door_close(&d);
	return rc;
}

static void
write_look(FILE *f, const struct look *l, unsigned columns)
{
	top_screen(f, (struct ats_slice){ l->status.data, l->status.len },
	    (struct ats_slice){ l->ended.data, l->ended.len }, columns);
}

static int
once(struct ctl *c)
{
	struct look l = { 0 };
	struct ats_err err = { 0 };
	int rc = take_look(c, &l, &err);

	if (rc == 0 && c->json)
		(void)printf("{\"status\":%s,\"ended\":%s}\n", l.status.data, l.ended.data);
	else if (rc == 0)
		write_look(stdout, &l, 0);
	look_done(&l);
	return rc == 0 ? CTL_OK : ctl_fail_err(c, rc == -ATS_E_NOENT ? CTL_NOT_RUNNING : CTL_FAIL,
	    &err);
}

/* ---- on a terminal ------------------------------------------------------------------- */

static void
leave_screen(void)
{
	static const char text[] = "\033[?25h\033[?1049l";

	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
}

/* The second one does not wait for an engine that does not answer. */
static void
on_signal(int sig)
{
	if (sig == SIGWINCH)
		return;
	if (ends) {
		leave_screen();
		_exit(128 + sig);
	}
	ends = 1;
}

/* Keys come one by one and are not shown; Ctrl-C stays a signal. */
static bool
enter_screen(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };
	struct sigaction sa = { .sa_handler = on_signal };
	struct termios t;

	if (tcgetattr(STDIN_FILENO, &saved) < 0)
		return false;
	for (size_t i = 0; i < ATS_ARRAY_LEN(signals); i++)
		(void)sigaction(signals[i], &sa, NULL);
	t = saved;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
	(void)fputs("\033[?1049h\033[?25l", stdout);
	return true;
}

static void
draw(struct ctl *c)
{
	struct look l = { 0 };
	struct ats_err err = { 0 };
	unsigned rows = 24, columns = 80;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (f == NULL)
		return;
	(void)tty_size(&rows, &columns);
	if (take_look(c, &l, &err) == 0) {
		write_look(f, &l, columns);
	} else {
		out_safe(f, err.text, strlen(err.text));
		(void)fputc('\n', f);
	}
	look_done(&l);
	if (fclose(f) == 0) {
		(void)fputs("\033[H", stdout);
		top_fit(stdout, text, n, rows, columns);
		(void)fflush(stdout);
	}
	free(text);
}

/* False: q, or the terminal is gone. A key or a signal draws anew at once. */
static bool
wait_a_moment(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	int rc = poll(&p, 1, EACH_MS);
	char key;

	if (rc < 0)
		return errno == EINTR;
	if (rc == 0)
		return true;
	return read(STDIN_FILENO, &key, 1) == 1 && key != 'q';
}

int
cmd_top(struct ctl *c, int argc, char **argv)
{
	int code;

	if (ctl_args(c, NULL, 0, argc, argv, &code) < 0)
		return code;
	if (c->json || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !enter_screen())
		return once(c);
	do
		draw(c);
	while (!ends && !ferror(stdout) && wait_a_moment() && !ends);
	leave_screen();
	return CTL_OK;
}
