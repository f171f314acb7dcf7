/* SPDX-License-Identifier: Apache-2.0
 *
 * One Bash call in a box of its own: starts ats-hands as the spawner does, says hello, sends
 * the call, prints what it printed, ends the box. Static and without a library of ours, so
 * that nothing which is in the environment or the workspace runs in it: whatever escapes, it
 * was hands that let it out. Hands gets what this program got: descriptors, stdin,
 * environment, terminal.
 *
 *   boxcall [-l MIN_LEVEL] [-s STATE_DIR] [-t MS] [-i] [-u] HANDS WORKSPACE WORD...
 *
 * The words are quoted and joined to one command. -s keeps the state (home) of an earlier
 * call. -i prints what ready says of the confinement, and makes no call. -u makes it in a box
 * that is not verified, too. Exit status: the command's, 128 + signal, 124 after MS, 125 where
 * no box could be had. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD 20u
#define NO_BOX 125
/* type << 8 | kind, as in proto/frames.def */
enum { HELLO = 0x401, READY = 0x402, PING = 0x403, PONG = 0x404, CALL = 0x101, RESULT = 0x300 };

static struct {
	const char *level, *hands, *ws, *state;
	unsigned ms;
	int info, unverified;
} opt = { .level = "namespaces", .ms = 5000 };
static char made[] = "/tmp/boxcall-XXXXXX";
static pid_t hands;

static int
drop(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st;
	(void)flag;
	(void)at;
	(void)remove(path);	/* what somebody else made there stays */
	return 0;
}

static void
end(int code)
{
	struct timespec tick = { 0, 2000000 };

	if (hands > 0) {
		(void)kill(hands, SIGTERM);
		for (int i = 0; waitpid(hands, NULL, WNOHANG) == 0; i++) {
			if (i == 1000)
				(void)kill(hands, SIGKILL);
			(void)nanosleep(&tick, NULL);
		}
	}
	if (opt.state == made)
		(void)nftw(made, drop, 16, FTW_DEPTH | FTW_PHYS);
	exit(code);
}

static void
fail(const char *what)
{
	(void)fprintf(stderr, "boxcall: %s: %s\n", what, strerror(errno));
	end(NO_BOX);
}

/* ---- frames ------------------------------------------------------------------------- */
static void
put(unsigned char *p, uint64_t v, int n)
{
	while (n-- > 0)
		*p++ = (unsigned char)(v >> (8 * n));
}

static uint32_t
get32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void
send_frame(int fd, unsigned type, uint64_t call, const char *json)
{
	uint32_t n = (uint32_t)strlen(json);
	unsigned char head[HEAD] = { 0 };

	put(head, HEAD + n, 4);
	put(head + 4, type, 2);
	put(head + 8, call, 8);
	put(head + 16, n, 4);
	if (send(fd, head, HEAD, MSG_NOSIGNAL | MSG_MORE) != (ssize_t)HEAD)
		fail("the link ended");
	for (ssize_t done = 0, m; (size_t)done < n; done += m)
		if ((m = send(fd, json + done, n - (size_t)done, MSG_NOSIGNAL)) <= 0)
			fail("the link ended");
}

static void
read_all(int fd, unsigned char *p, size_t n)
{
	for (ssize_t m; n > 0; p += m, n -= (size_t)m)
		if ((m = read(fd, p, n)) <= 0)
			fail("the link ended");
}

/* The next frame of that type; pings are answered. *ret_json is the JSON, then a NUL, then
 * the payload of *ret_n bytes; never freed. */
static void
expect(int fd, unsigned type, char **ret_json, char **ret_payload, size_t *ret_n)
{
	for (;;) {
		unsigned char head[HEAD], *body;
		uint32_t n, json;
		unsigned got;

		read_all(fd, head, HEAD);
		n = get32(head) - HEAD;
		json = get32(head + 16);
		got = (unsigned)head[4] << 8 | head[5];
		body = malloc((size_t)n + 2);
		if (n > 64u << 20 || json > n || body == NULL)
			fail("a frame that is none");
		read_all(fd, body, json);
		body[json] = '\0';
		read_all(fd, body + json + 1, n - json);
		body[n + 1] = '\0';
		if (got == PING)
			send_frame(fd, PONG, 0, (char *)body);
		if (got != type)
			continue;
		*ret_json = (char *)body;
		*ret_payload = (char *)body + json + 1;
		*ret_n = n - json;
		return;
	}
}

/* The member's value up to the next comma or brace, without quotes; "" when there is none.
 * Enough for the members that are looked at here. */
static const char *
member(const char *json, const char *name)
{
	static char value[128];
	char key[64];
	const char *p;
	size_t n;

	(void)snprintf(key, sizeof key, "\"%s\":", name);
	p = strstr(json, key);
	if (p == NULL)
		return "";
	p += strlen(key);
	p += *p == '"';
	n = strcspn(p, "\",}");
	(void)snprintf(value, sizeof value, "%.*s", (int)n, p);
	return value;
}

/* ---- the box ------------------------------------------------------------------------ */
static int
start(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char level[64], dir[128];
	int pair[2], listener;

	if (opt.state == NULL) {
		opt.state = made;
		if (mkdtemp(made) == NULL)
			fail("mkdtemp");
	}
	(void)snprintf(dir, sizeof dir, "%s/home", opt.state);
	(void)mkdir(dir, 0700);
	(void)snprintf(dir, sizeof dir, "%s/spill", opt.state);
	(void)mkdir(dir, 0700);
	(void)snprintf(level, sizeof level, "min_level=%s", opt.level);
	(void)snprintf(a.sun_path, sizeof a.sun_path, "%s/sock", opt.state);
	(void)unlink(a.sun_path);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&a, sizeof a) < 0 || listen(listener, 8) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		fail("sockets");
	hands = fork();
	if (hands < 0)
		fail("fork");
	if (hands == 0) {
		/* Above what is to be inherited, then where the spawner puts them. */
		int l = fcntl(pair[1], F_DUPFD, 200), s = fcntl(listener, F_DUPFD, 200);

		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
		if (dup2(l, 3) != 3 || dup2(s, 4) != 4)
			_exit(NO_BOX);
		(void)close(l);
		(void)close(s);
		(void)execl(opt.hands, "ats-hands", "--link-fd", "3", "--listen-fd", "4",
		    "--workspace", opt.ws, "--state-dir", opt.state, "--sandbox",
		    "b-000000000001", "--option", "limits=check", "--option", level, NULL);
		_exit(NO_BOX);
	}
	(void)close(pair[1]);
	(void)close(listener);
	return pair[0];
}

static void
quote(char **p, const char *word)
{
	*(*p)++ = '\'';
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			*p = stpcpy(*p, "'\\\\''");	/* the backslash as JSON has it */
		else if (*word == '\\' || *word == '"')
			*p += sprintf(*p, "\\%c", *word);
		else if ((unsigned char)*word < 0x20)
			*p += sprintf(*p, "\\u%04x", *word);
		else
			*(*p)++ = *word;
	}
	*p = stpcpy(*p, "' ");
}

static char *
call_json(char **words)
{
	size_t n = 1024 + 2 * strlen(opt.ws);
	char *json, *p;

	for (char **w = words; *w != NULL; w++)
		n += 8 + 6 * strlen(*w);
	json = p = malloc(n);
	if (json == NULL)
		fail("malloc");
	p = stpcpy(p, "{\"name\":\"Bash\",\"input\":{\"command\":\"");
	for (; *words != NULL; words++)
		quote(&p, *words);
	(void)sprintf(p, "\",\"timeout\":%u},\"ctx\":{\"cwd\":\"%s\"},\"deadline_ms\":%u,"
	    "\"session\":\"s-000000000001\"}", opt.ms, opt.ws, opt.ms + 2000);
	return json;
}

static int
exit_code(const char *json)
{
	const char *code = member(json, "exit_code");
	int n = atoi(code);

	if (strcmp(member(json, "exit_kind"), "timeout") == 0)
		return 124;
	return strcmp(member(json, "exit_kind"), "signal") == 0 ? 128 + n : n;
}

int
main(int argc, char **argv)
{
	char *json, *payload, hello[512];
	size_t n;
	int c, link;

	while ((c = getopt(argc, argv, "+l:s:t:iu")) != -1)
		switch (c) {
		case 'l': opt.level = optarg; break;
		case 's': opt.state = optarg; break;
		case 't': opt.ms = (unsigned)atoi(optarg); break;
		case 'i': opt.info = 1; break;
		case 'u': opt.unverified = 1; break;
		default: return NO_BOX;
		}
	if (argc - optind < 2 + !opt.info)
		return NO_BOX;
	opt.hands = argv[optind];
	opt.ws = argv[optind + 1];
	link = start();
	expect(link, HELLO, &json, &payload, &n);
	(void)snprintf(hello, sizeof hello, "{\"version_min\":1,\"version_max\":1,"
	    "\"digest\":\"%s\",\"role\":\"brain\",\"epoch\":1}", member(json, "digest"));
	send_frame(link, HELLO, 0, hello);
	expect(link, READY, &json, &payload, &n);
	if (opt.info) {
		(void)puts(json);
		end(0);
	}
	if (!opt.unverified && strcmp(member(json, "verified"), "true") != 0) {
		(void)fprintf(stderr, "boxcall: not verified: %s\n", json);
		end(NO_BOX);
	}
	send_frame(link, CALL, 1, call_json(argv + optind + 2));
	expect(link, RESULT, &json, &payload, &n);
	(void)fwrite(payload, 1, n, stdout);
	(void)fputc('\n', stdout);
	(void)fflush(stdout);
	end(exit_code(json));
}
