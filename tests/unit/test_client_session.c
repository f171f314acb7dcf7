/* SPDX-License-Identifier: Apache-2.0
 *
 * A session in a program with signals, children and descriptors of its own: what the library leaves
 * alone. The door is a child that answers three lines and ends, atsctl a script that names it. */
#include "brain/client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/lib/unit.h"

#define CALLS 3

static char top[] = "/tmp/ats-session.XXXXXX";
static volatile sig_atomic_t children, pipes;

static void
on_signal(int sig)
{
	children += sig == SIGCHLD;
	pipes += sig == SIGPIPE;
}

static void
in_top(char *out, size_t size, const char *name)
{
	(void)snprintf(out, size, "%s/%s", top, name);
}

/* Answers what comes by what it is, ends after so many calls. */
static void
serve(int listener)
{
	static const char *const results[] = { "{\"workspace\":\"/ws\"}", "{\"url\":\"stdio\"}",
		"{\"outcome\":\"done\",\"content\":[{\"type\":\"text\",\"text\":\"there\"}]}" };
	int fd = accept(listener, NULL, NULL);
	FILE *in = fdopen(fd, "r");
	char line[4096], *id;

	for (int n = 0; n < 2 + CALLS && fgets(line, sizeof(line), in) != NULL; n++) {
		id = strstr(line, "\"id\":");
		(void)dprintf(fd, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}\n",
		    id == NULL ? 0 : strtol(id + 5, NULL, 10), results[n < 2 ? n : 2]);
	}
	_exit(0);
}

static pid_t
start_door(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	in_top(to.sun_path, sizeof(to.sun_path), "door");
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	ck_assert_int_eq(listen(fd, 4), 0);
	pid = fork();
	if (pid == 0)
		serve(fd);
	close(fd);
	return pid;
}

static void
write_atsctl(char path[128])
{
	int fd;

	in_top(path, 128, "atsctl");
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	ck_assert_int_gt(dprintf(fd, "#!/bin/sh\necho '{\"session\":\"s-1\",\"sandbox\":\"b-1\","
	    "\"door\":\"%s/door\"}'\n", top), 0);
	close(fd);
}

static void
turn(struct ats *a)
{
	struct pollfd p = { .fd = ats_fd(a), .events = POLLIN };
	int rc;

	do
		rc = poll(&p, 1, 20000);
	while (rc < 0 && errno == EINTR);
	ck_assert_int_eq(rc, 1);
	(void)ats_process(a);
}

struct seen {
	int answers, unsure;
	enum ats_end last;
};

static void
on_answer(void *arg, const struct ats_answer *answer)
{
	struct seen *s = arg;

	s->answers++;
	s->last = answer->end;
	if (answer->end == ATS_DONE)
		ck_assert_str_eq(answer->text, "there");
}

/* That a program which is started now would have. */
static int
count_inherited(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0;
	return n;
}

START_TEST(session_leaves_signals_children_and_descriptors_alone)
{
	char atsctl[128], cwd[ATS_PATH_MAX], cwd_then[ATS_PATH_MAX];
	struct ats_options o = { .size = sizeof(o), .url = "stdio", .workspace = "/",
		.atsctl = atsctl };
	struct ats_request q = { .size = sizeof(q), .name = "Bash", .input = "{}", .input_len = 2 };
	struct seen seen = { 0 };
	struct ats *a = NULL;
	sigset_t mask, mask_then;
	int fd, inherited, status;
	pid_t door;

	(void)unit_tmp(top);
	ck_assert(signal(SIGCHLD, on_signal) != SIG_ERR && signal(SIGPIPE, on_signal) != SIG_ERR);
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	write_atsctl(atsctl);
	door = start_door();
	inherited = count_inherited();
	ck_assert_int_eq(ats_start(&o, &a), 0);
	ck_assert_int_eq(ats_state(a), 0);
	fd = ats_fd(a);
	for (int i = 0; i < CALLS; i++)		/* before it is open, too */
		ck_assert_int_eq(ats_send_tool(a, &q, on_answer, &seen, NULL), 0);
	while (seen.answers < CALLS)
		turn(a);
	ck_assert_int_eq(seen.last, ATS_DONE);
	ck_assert_int_eq(ats_state(a), 1);
	ck_assert_str_eq(ats_session(a), "s-1");
	ck_assert_str_eq(ats_workspace(a), "/ws");
	ck_assert_int_eq(count_inherited(), inherited);
	/* Only the program's own child is there to be waited for. */
	ck_assert_int_eq(waitpid(-1, &status, 0), door);
	ck_assert_int_eq(ats_send_tool(a, &q, on_answer, &seen, NULL), 0);
	while (ats_state(a) >= 0 || seen.answers == CALLS)
		turn(a);
	ck_assert_int_eq(seen.answers, CALLS + 1);
	ck_assert_int_ne(seen.last, ATS_DONE);
	ck_assert_str_ne(ats_why(a), "");
	ck_assert_int_eq(ats_send_tool(a, &q, on_answer, &seen, NULL), ATS_ERR_OPEN);
	ck_assert_int_eq(ats_fd(a), fd);
	ats_close(a);
	ck_assert_int_eq(seen.answers, CALLS + 1);
	ck_assert_int_eq(waitpid(-1, NULL, __WALL), -1);
	ck_assert_int_eq(children, 1);
	ck_assert_int_eq(pipes, 0);
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &mask_then), 0);
	ck_assert_mem_eq(&mask, &mask_then, 8);
	ck_assert_str_eq(cwd, getcwd(cwd_then, sizeof(cwd_then)));
}
END_TEST

/* It has our end of a connection, which is over for us when brain has gone. */
START_TEST(a_child_of_the_program_does_not_keep_it_awake)
{
	char atsctl[128];
	struct ats_options o = { .size = sizeof(o), .url = "stdio", .workspace = "/",
		.atsctl = atsctl };
	struct ats_request q = { .size = sizeof(q), .name = "Bash", .input = "{}", .input_len = 2 };
	struct seen seen = { 0 };
	struct ats *a = NULL;
	struct pollfd p = { .events = POLLIN };
	pid_t door, child;
	int hold[2], turns = 0;
	char c;

	(void)unit_tmp(top);
	write_atsctl(atsctl);
	door = start_door();
	ck_assert_int_eq(ats_start(&o, &a), 0);
	while (ats_state(a) == 0)
		turn(a);
	ck_assert_int_eq(ats_state(a), 1);
	ck_assert_int_eq(pipe(hold), 0);
	child = fork();
	if (child == 0) {
		close(hold[1]);
		_exit((int)read(hold[0], &c, 1));
	}
	ck_assert_int_gt(child, 0);
	for (int i = 0; i < CALLS; i++)
		ck_assert_int_eq(ats_send_tool(a, &q, on_answer, &seen, NULL), 0);
	while (seen.answers < CALLS)
		turn(a);
	ck_assert_int_eq(waitpid(door, NULL, 0), door);
	turn(a);			/* the end of the connection */
	for (p.fd = ats_fd(a); poll(&p, 1, 0) == 1 && turns < 100; turns++)
		(void)ats_process(a);
	ck_assert_int_lt(turns, 100);
	ats_close(a);
	close(hold[1]);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	close(hold[0]);
}
END_TEST

/* No door: what is asked for is answered once, by ats_close at the latest. */
START_TEST(close_answers_what_waits)
{
	char atsctl[128];
	struct ats_options o = { .size = sizeof(o), .url = "stdio", .workspace = "/",
		.session = "mine", .atsctl = atsctl };
	struct ats_request q = { .size = sizeof(q), .name = "Bash", .input = "{}", .input_len = 2 };
	struct seen seen = { 0 };
	struct ats *a = NULL;

	(void)unit_tmp(top);
	write_atsctl(atsctl);
	ck_assert_int_eq(ats_start(&o, &a), 0);
	ck_assert_int_eq(ats_send_tool(a, &q, on_answer, &seen, NULL), 0);
	ck_assert_int_eq(ats_send_validate(a, &q, on_answer, &seen, NULL), 0);
	ck_assert_int_eq(ats_send_hook(a, &q, on_answer, &seen, NULL), 0);
	ck_assert_int_eq(seen.answers, 0);
	ats_close(a);
	ck_assert_int_eq(seen.answers, 3);
	ck_assert_int_eq(seen.last, ATS_NOT_STARTED);
	ats_close(NULL);
}
END_TEST

START_TEST(arguments_that_cannot_be_are_refused)
{
	struct ats_options o = { .size = sizeof(o), .url = "stdio", .atsctl = "/nonexistent" };
	struct ats_request q = { .size = sizeof(q), .name = "Bash", .input = "{}", .input_len = 2 };
	struct ats_request w;
	struct ats_answer *answer = NULL;
	struct ats *a = NULL;
	char *huge;

	ck_assert_int_eq(unsetenv("REMOTE_TOOLS_URL"), 0);
	ck_assert_int_eq(ats_start(NULL, &a), ATS_ERR_ARG);
	o.size--;
	ck_assert_int_eq(ats_start(&o, &a), ATS_ERR_ARG);
	o.size++;
	o.session = "-x";
	ck_assert_int_eq(ats_start(&o, &a), ATS_ERR_ARG);
	o.session = NULL;
	ck_assert_int_eq(ats_open(&o, &a), ATS_ERR_OPEN);
	ck_assert_ptr_nonnull(strstr(ats_why(a), "/nonexistent"));
	ck_assert_int_eq(ats_tool(a, &q, &answer), ATS_ERR_OPEN);
	ats_close(a);
	o.atsctl = "/bin/cat";		/* waits for nothing, says nothing of use */
	ck_assert_int_eq(ats_start(&o, &a), 0);
	w = q, w.size = 1;
	ck_assert_int_eq(ats_send_tool(a, &w, NULL, NULL, NULL), ATS_ERR_ARG);
	w = q, w.input = "[]";
	ck_assert_int_eq(ats_send_tool(a, &w, NULL, NULL, NULL), ATS_ERR_ARG);
	w = q, w.input = "{\"a\":1,\"a\":1}", w.input_len = 13;
	ck_assert_int_eq(ats_send_tool(a, &w, NULL, NULL, NULL), ATS_ERR_ARG);
	w = q, w.ctx = "{";
	ck_assert_int_eq(ats_send_tool(a, &w, NULL, NULL, NULL), ATS_ERR_ARG);
	w = q, w.ctx = "{}";
	ck_assert_int_eq(ats_send_hook(a, &w, NULL, NULL, NULL), ATS_ERR_ARG);
	w = q, w.name = NULL;
	ck_assert_int_eq(ats_send_tool(a, &w, NULL, NULL, NULL), ATS_ERR_ARG);
	huge = malloc(CLIENT_request_bytes + 2);
	ck_assert_ptr_nonnull(huge);
	memset(huge, ' ', CLIENT_request_bytes + 2);
	memcpy(huge, "{}", 2);
	w = q, w.input = huge, w.input_len = CLIENT_request_bytes + 1;
	ck_assert_int_eq(ats_send_tool(a, &w, NULL, NULL, NULL), ATS_ERR_LIMIT);
	free(huge);
	for (unsigned i = 0; i < CLIENT_calls; i++)
		ck_assert_int_eq(ats_send_tool(a, &q, NULL, NULL, NULL), 0);
	ck_assert_int_eq(ats_send_tool(a, &q, NULL, NULL, NULL), ATS_ERR_LIMIT);
	ats_close(a);
}
END_TEST

ATS_UNIT_MAIN("client_session", session_leaves_signals_children_and_descriptors_alone,
    a_child_of_the_program_does_not_keep_it_awake, close_answers_what_waits,
    arguments_that_cannot_be_are_refused)
