/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers what commands ask by socket(2), bind(2) and connect(2). Runs in monitors; the asking
 * process is hostile: its memory and descriptors change while they are looked at, so each is
 * read once, and only what was read is used. */
#include "hands/confine/own_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"
#include "hands/confine/apply.h"

#define RETRY_MS 20
#define GUARD_US 5000		/* connect(2) may block that long, whatever the command does */
#define DONE 1			/* no errno */

/* ---- the command's side ------------------------------------------------------------ */
int
own_sockets_confine(int channel, struct ats_err *err)
{
	ATS_CLEANUP_FD int listener = -1;
	int rc = filter_listen(&listener, err);

	if (rc < 0)
		return rc;
	return ats_fd_send(channel, "", 1, &listener, 1) == 1 ?
	    0 : ats_err_set(err, ATS_E_CONFINE, "sockets: the listener was not sent");
}

/* ---- the monitor's ----------------------------------------------------------------- */
static void
on_alarm(int sig)
{
	(void)sig;	/* it interrupts */
}

void
own_sockets_init(struct own_sockets *s, const struct own_place *place)
{
	const struct sigaction sa = { .sa_handler = on_alarm };

	s->listener = -1;
	s->place = *place;
	s->nwaiting = s->next = 0;
	for (size_t i = 0; i < OWN_MADE_MAX; i++)
		s->made[i].sock = -1;
	if (place->dir >= 0)
		(void)sigaction(SIGALRM, &sa, NULL);
}

int
own_sockets_take(struct own_sockets *s, int channel, struct ats_err *err)
{
	size_t n = 0;
	char c;
	int fd = -1;

	if (ats_fd_recv(channel, &c, 1, &fd, 1, &n) != 1 || n != 1 ||
	    ats_fd_raise(&fd, CONFINE_FD_MIN) < 0)
		return ats_err_set(err, ATS_E_CONFINE, "sockets: no listener came");
	own_sockets_close(s);
	s->listener = fd;
	return 0;
}

static void
forget(struct own_made *m)
{
	ats_fd_close(&m->sock);
}

void
own_sockets_close(struct own_sockets *s)
{
	for (size_t i = 0; i < s->nwaiting; i++)
		(void)close(s->waiting[i].sock);
	s->nwaiting = 0;
	for (size_t i = 0; i < OWN_MADE_MAX; i++)
		forget(&s->made[i]);
	ats_fd_close(&s->listener);
}

struct pollfd
own_sockets_poll(const struct own_sockets *s)
{
	return (struct pollfd){ .fd = s->listener, .events = POLLIN };
}

int
own_sockets_wait(const struct own_sockets *s, int wait_ms)
{
	return s->nwaiting > 0 && (wait_ms < 0 || wait_ms > RETRY_MS) ? RETRY_MS : wait_ms;
}

/* rc: 0 or a negative errno. Nobody may be there any more. */
static void
answer(const struct own_sockets *s, uint64_t id, int rc)
{
	struct seccomp_notif_resp r = { .id = id, .error = rc };

	(void)ioctl(s->listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
}

static bool
still_asks(const struct own_sockets *s, uint64_t id)
{
	return ioctl(s->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* ---- sockets ----------------------------------------------------------------------- */
/* Gives the command one that is made here. No errno: it has it. */
static int
make_socket(struct own_sockets *s, const struct seccomp_notif *n)
{
	int type = (int)n->data.args[1], kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct own_made *m = &s->made[s->next];
	struct seccomp_notif_addfd give = { .id = n->id, .flags = SECCOMP_ADDFD_FLAG_SEND,
		.newfd_flags = (type & SOCK_CLOEXEC) != 0 ? O_CLOEXEC : 0 };
	ATS_CLEANUP_FD int sock = -1;
	struct stat st;

	if ((int)n->data.args[0] != AF_UNIX || (kind != SOCK_STREAM && kind != SOCK_SEQPACKET))
		return -EPERM;
	sock = socket(AF_UNIX, type | SOCK_CLOEXEC, (int)n->data.args[2]);
	if (sock < 0 || fstat(sock, &st) < 0)
		return -errno;
	give.srcfd = (unsigned)sock;
	if (ioctl(s->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &give) < 0)
		return -errno;
	forget(m);
	m->sock = ats_steal_fd(&sock);
	m->ino = st.st_ino;
	s->next = (s->next + 1) % OWN_MADE_MAX;
	return DONE;
}

/* The one that the command means, or NULL: none of those here. An inode is no other one's as
 * long as its socket is kept; which one the number means may change, but not to one of others. */
static struct own_made *
find_socket(struct own_sockets *s, const struct seccomp_notif *n)
{
	char path[64], text[64];
	unsigned long long ino;
	ssize_t len;

	(void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)n->pid, (int)n->data.args[0]);
	len = readlink(path, text, sizeof text - 1);
	if (len <= 0)
		return NULL;
	text[len] = '\0';
	if (sscanf(text, "socket:[%llu]", &ino) != 1)
		return NULL;
	for (size_t i = 0; i < OWN_MADE_MAX; i++)
		if (s->made[i].sock >= 0 && s->made[i].ino == (ino_t)ino)
			return &s->made[i];
	return NULL;
}

/* The path of an address, with its NUL. */
static int
take_name(const struct seccomp_notif *n, char name[OWN_ADDRESS + 1])
{
	struct sockaddr_un a = { 0 };
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	uint32_t len = (uint32_t)n->data.args[2];
	struct iovec to = { &a, len }, from = { (void *)(uintptr_t)n->data.args[1], len };
	ssize_t got;

	_Static_assert(sizeof a.sun_path == OWN_ADDRESS, "room for any path");
	if (len < head || len > sizeof a)
		return -EINVAL;
	got = process_vm_readv((pid_t)n->pid, &to, 1, &from, 1, 0);
	if (got < 0 || (size_t)got != len)
		return got < 0 ? -errno : -EFAULT;
	if (a.sun_family != AF_UNIX)
		return -EINVAL;
	/* An abstract name, or the wish for one. */
	if (len == head || a.sun_path[0] == '\0')
		return -EPERM;
	memset(name, 0, OWN_ADDRESS + 1);
	memcpy(name, a.sun_path, len - head);
	return 0;
}

/* Without waiting for a listener whose backlog is full: -EAGAIN then. Whether the socket blocks
 * is the command's to change meanwhile, so an alarm is set as well. */
static int
connect_now(int sock, const char *path)
{
	const struct itimerval on = { { 0, GUARD_US }, { 0, GUARD_US } };
	const struct itimerval off = { { 0, 0 }, { 0, 0 } };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int flags = fcntl(sock, F_GETFL), rc;

	(void)snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
	if (flags < 0 || fcntl(sock, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    setitimer(ITIMER_REAL, &on, NULL) < 0)
		return -errno;
	rc = connect(sock, (const struct sockaddr *)&to, sizeof to) < 0 ? -errno : 0;
	(void)setitimer(ITIMER_REAL, &off, NULL);
	(void)fcntl(sock, F_SETFL, flags);
	/* A name that was never bound, or whose socket is of the other type. */
	if (rc == -ENOENT)
		return -ECONNREFUSED;
	return rc == -EINTR ? -EAGAIN : rc;
}

static int
do_connect(struct own_sockets *s, const struct seccomp_notif *n, const char *name, int *sock)
{
	struct own_waiting *w = &s->waiting[s->nwaiting];
	char path[OWN_ADDRESS];
	int rc = own_place_address(&s->place, *sock, name, (pid_t)n->pid, path);

	if (rc == 0)
		rc = connect_now(*sock, path);
	if (rc != -EAGAIN || s->nwaiting == OWN_WAITING_MAX ||
	    (fcntl(*sock, F_GETFL) & O_NONBLOCK) != 0)
		return rc;
	w->id = n->id;
	memcpy(w->path, path, sizeof w->path);
	w->sock = ats_steal_fd(sock);
	s->nwaiting++;
	return DONE;
}

/* 0 or an errno, or DONE: there is an answer, or there will be one. */
static int
decide(struct own_sockets *s, const struct seccomp_notif *n)
{
	char name[OWN_ADDRESS + 1];
	bool binds = n->data.nr == SYS_bind;
	struct own_made *m;
	int rc;

	if (n->data.nr == SYS_socket)
		return make_socket(s, n);
	rc = take_name(n, name);
	if (rc < 0)
		return rc;
	m = find_socket(s, n);
	/* Then what was read was the asking one's, and not another's that has its number now. */
	if (!still_asks(s, n->id))
		return -ESRCH;
	if (m == NULL)
		return binds ? -EINVAL : -EISCONN;
	if (binds)
		rc = own_place_bind(&s->place, m->sock, name, (pid_t)n->pid);
	else
		rc = n->data.nr == SYS_connect ? do_connect(s, n, name, &m->sock) : -EPERM;
	/* Its end is to be seen when the command closes it. */
	if (rc == 0)
		forget(m);
	return rc;
}

static void
try_again(struct own_sockets *s)
{
	for (size_t i = 0; i < s->nwaiting;) {
		struct own_waiting *w = &s->waiting[i];
		bool there = still_asks(s, w->id);
		int rc = there ? connect_now(w->sock, w->path) : 0;

		if (rc == -EAGAIN) {
			i++;
			continue;
		}
		if (there)
			answer(s, w->id, rc);
		(void)close(w->sock);
		*w = s->waiting[--s->nwaiting];
	}
}

void
own_sockets_turn(struct own_sockets *s, short revents)
{
	union {
		struct seccomp_notif n;
		char room[512];		/* this kernel's may be longer */
	} u;
	int rc;

	if (s->listener < 0)
		return;
	if ((revents & POLLIN) != 0) {
		memset(&u, 0, sizeof u);
		if (ioctl(s->listener, SECCOMP_IOCTL_NOTIF_RECV, &u) == 0 &&
		    (rc = decide(s, &u.n)) != DONE)
			answer(s, u.n.id, rc);
	} else if (revents != 0) {	/* all that could ask are gone */
		own_sockets_close(s);
		return;
	}
	try_again(s);
}
