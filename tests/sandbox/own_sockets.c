/* SPDX-License-Identifier: Apache-2.0
 *
 * What 0510-own-sockets.py runs in a box: sockets of its own, and others' that are not to be
 * reached. Says "done", or what is not as it should be. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define WANT(x) ((x) ? (void)0 : fail(#x, __LINE__))

static void
fail(const char *what, int line)
{
	printf("line %d: %s: %s\n", line, what, strerror(errno));
	exit(1);
}

static struct sockaddr_un
at(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	memcpy(a.sun_path, name, strnlen(name, sizeof a.sun_path));
	return a;
}

static int
make(int type)
{
	int s = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	WANT(s >= 0);
	return s;
}

static int
bound(int s, const char *name)
{
	struct sockaddr_un a = at(name);

	return bind(s, (struct sockaddr *)&a, sizeof a);
}

static int
joined(int s, const char *name)
{
	struct sockaddr_un a = at(name);

	return connect(s, (struct sockaddr *)&a, sizeof a);
}

static int
refused(int rc, int why)
{
	return rc < 0 && errno == why;
}

static int
server(int type, const char *name)
{
	int s = make(type);

	WANT(bound(s, name) == 0 && listen(s, 1) == 0);
	return s;
}

/* A byte there and back, then the end. */
static void
talk(int type, const char *bind_to, const char *connect_to)
{
	int l = server(type, bind_to), c = make(type), a;
	char b = 'x';

	WANT(joined(c, connect_to) == 0 && (a = accept(l, NULL, NULL)) >= 0);
	WANT(write(c, &b, 1) == 1 && read(a, &b, 1) == 1 && write(a, &b, 1) == 1 &&
	    read(c, &b, 1) == 1);
	(void)close(c);
	WANT(read(a, &b, 1) == 0);
	(void)close(a);
	(void)close(l);
	c = make(type);
	WANT(refused(joined(c, connect_to), ECONNREFUSED));
	(void)close(c);
	WANT(unlink(bind_to) == 0);
}

static void
own(void)
{
	char abs[200], told[128] = "";
	struct sockaddr_un a;
	socklen_t n = sizeof a;
	int s, c;

	talk(SOCK_STREAM, "a", "a");
	talk(SOCK_SEQPACKET, "./a", "../ws/a");
	(void)snprintf(abs, sizeof abs, "%s/t", getenv("TMPDIR"));
	talk(SOCK_STREAM, abs, abs);
	(void)snprintf(abs, sizeof abs, "%s/h", getenv("HOME"));
	talk(SOCK_STREAM, abs, abs);
	WANT(mkdir("d", 0700) == 0 && chdir("d") == 0);
	talk(SOCK_STREAM, "a", "../d/a");
	s = server(SOCK_STREAM, "b");
	WANT(refused(bound(s, "c"), EINVAL) && refused(bound(make(SOCK_STREAM), "b"), EADDRINUSE));
	WANT(refused(joined(make(SOCK_STREAM), "none"), ENOENT));
	WANT(joined(make(SOCK_SEQPACKET), "b") < 0);
	/* The name that a program is told, and one that has another now, lead there as well. */
	WANT(getsockname(s, (struct sockaddr *)&a, &n) == 0);
	(void)snprintf(told, sizeof told, "%s", a.sun_path);
	WANT(joined(make(SOCK_STREAM), told) == 0 && rename("b", "e") == 0);
	WANT(joined(make(SOCK_STREAM), "e") == 0);
	/* Full: who does not wait is told so, who does waits. */
	c = make(SOCK_STREAM | SOCK_NONBLOCK);
	WANT(refused(joined(c, "e"), EAGAIN));
	if (fork() == 0)
		_exit(joined(make(SOCK_STREAM), "e") != 0);
	for (int i = 0; i < 3; i++)
		WANT(accept(s, NULL, NULL) >= 0);
	WANT(wait(&c) > 0 && c == 0);
	puts("done");
}

static void
serve(void)
{
	int a, l = server(SOCK_STREAM, "served");

	(void)alarm(30);
	WANT((a = accept(l, NULL, NULL)) >= 0 && write(a, "hello", 5) == 5);
}

static void
ask(void)
{
	char text[6] = "";
	int c = make(SOCK_STREAM);

	for (int i = 0; i < 1000 && joined(c, "served") < 0; i++)
		(void)poll(NULL, 0, 10);
	WANT(read(c, text, 5) == 5);
	puts(text);
}

/* host, host.d: a listener and a datagram socket of others in the workspace. */
static void
others(const char *outside, const char *abstract)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX }, dgram = at("host.d");
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(abstract));
	char path[200];
	int s = make(SOCK_STREAM), p[2];

	memcpy(name.sun_path + 1, abstract, strlen(abstract));
	WANT(joined(s, "host") < 0 && joined(s, outside) < 0);
	WANT(refused(connect(s, (struct sockaddr *)&name, len), EPERM));
	WANT(refused(bind(s, (struct sockaddr *)&name, len), EPERM));
	WANT(refused(bind(s, (struct sockaddr *)&name, sizeof(sa_family_t)), EPERM));
	WANT(symlink("host", "link") == 0 && joined(s, "link") < 0 && bound(s, "link") < 0);
	WANT(link("host", "hard") == 0 && joined(s, "hard") < 0);
	WANT(symlink("/tmp", "dir") == 0 && refused(bound(s, "dir/x"), ELOOP));
	WANT(refused(bound(s, "../out"), EXDEV) || errno == EPERM);
	WANT(bound(s, "/run/x") < 0 && bound(s, "/proc/self/cwd/x") < 0);
	p[0] = open(".", O_RDONLY | O_DIRECTORY);
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d/host", p[0]);
	WANT(joined(s, path) < 0);
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d/../../x", p[0]);
	WANT(bound(s, path) < 0);
	memset(path, 'x', sizeof path);
	WANT(bound(s, path) == 0);	/* no NUL in 108 bytes: as the kernel, that name */
	/* A name of one's own that is another's inode now. */
	s = server(SOCK_STREAM, "mine");
	WANT(rename("host", "mine") == 0);
	WANT(joined(make(SOCK_STREAM), "mine") < 0 && rename("mine", "host") == 0);
	/* No datagrams. */
	WANT(refused(socket(AF_UNIX, SOCK_DGRAM, 0), EPERM));
	WANT(refused(socket(AF_UNIX, SOCK_RAW, 0), EPERM));
	WANT(refused(socketpair(AF_UNIX, SOCK_DGRAM, 0, p), EPERM));
	for (int type = SOCK_STREAM; type != 0; type = type == SOCK_STREAM ? SOCK_SEQPACKET : 0) {
		WANT(socketpair(AF_UNIX, type, 0, p) == 0 && joined(p[0], "host") < 0);
		s = make(type);
		WANT(sendto(s, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&dgram,
		    sizeof dgram) < 0);
	}
	WANT(refused(socket(AF_INET, SOCK_STREAM, 0), EPERM));
	puts("done");
}

/* ---- races ------------------------------------------------------------------------------ */
static struct sockaddr_un racing;
static volatile int over;

static void *
rewrite(void *p)
{
	const struct sockaddr_un a = at("mine"), b = at("host"), abstract = { .sun_family = AF_UNIX,
		.sun_path = "\0racing" };

	(void)p;
	while (!over) {
		memcpy(&racing, &a, sizeof a);
		memcpy(&racing, &b, sizeof b);
		memcpy(&racing, &abstract, sizeof abstract);
	}
	return NULL;
}

static void *
swap(void *p)
{
	(void)p;
	while (!over) {
		(void)renameat2(AT_FDCWD, "host", AT_FDCWD, "mine", RENAME_EXCHANGE);
		(void)rename("host", "new");
		(void)rename("new", "host");
	}
	return NULL;
}

static void *
swap_fds(void *p)
{
	int s = make(SOCK_STREAM), zero = open("/dev/null", O_RDWR);

	(void)p;
	while (!over) {
		(void)dup2(s, 100);
		(void)dup2(zero, 100);
	}
	return NULL;
}

static void
race(int rounds)
{
	pthread_t t[3];
	int l = server(SOCK_STREAM, "mine");

	WANT(fcntl(l, F_SETFL, O_NONBLOCK) == 0);
	WANT(pthread_create(&t[0], NULL, rewrite, NULL) == 0 &&
	    pthread_create(&t[1], NULL, swap, NULL) == 0 &&
	    pthread_create(&t[2], NULL, swap_fds, NULL) == 0);
	for (int i = 0; i < rounds; i++) {
		int c = make(SOCK_STREAM | SOCK_NONBLOCK), s = make(SOCK_STREAM);

		(void)connect(c, (struct sockaddr *)&racing, sizeof racing);
		(void)connect(100, (struct sockaddr *)&racing, sizeof racing);
		/* Bound while its file is moved. */
		(void)bound(s, "new");
		(void)joined(c, "new");
		(void)joined(c, "host");
		(void)unlink("new");
		(void)close(c);
		(void)close(s);
		while ((c = accept(l, NULL, NULL)) >= 0)
			(void)close(c);
	}
	over = 1;
	for (int i = 0; i < 3; i++)
		(void)pthread_join(t[i], NULL);
	puts("done");
}

/* As many as there may be, and more, in several processes, until killed. */
static void
flood(void)
{
	for (int i = 0; i < 4; i++)
		if (fork() == 0)
			break;
	for (unsigned i = 0;; i++) {
		char name[64];
		int s = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);

		(void)snprintf(name, sizeof name, "f%d-%u", (int)getpid(), i % 500);
		(void)unlink(name);
		if (bound(s, name) == 0)
			(void)listen(s, 0);
		(void)joined(c, name);
		if (i % 30 == 0)
			(void)close_range(3, ~0u, 0);
		if (i == 100)
			(void)close(open("flooded", O_WRONLY | O_CREAT, 0600));
	}
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "own") == 0)
		own();
	else if (strcmp(what, "serve") == 0)
		serve();
	else if (strcmp(what, "ask") == 0)
		ask();
	else if (strcmp(what, "others") == 0 && argc == 4)
		others(argv[2], argv[3]);
	else if (strcmp(what, "race") == 0 && argc == 3)
		race(atoi(argv[2]));
	else if (strcmp(what, "flood") == 0)
		flood();
	return 0;
}
