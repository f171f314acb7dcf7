/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of sessions and its file. Runs in the vault; clients (the user) choose paths
 * and keys, so both are escaped in the file: one line a session, five words. */
#include "brain/vault/register.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/vault/lines.h"
#include "common/buf.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/map.h"
#include "common/path.h"
#include "common/share.h"

#define FILE_MAX (64u << 20)
#define UNUSED_MS (60 * 60 * 1000)	/* before it may be forgotten to make room */

struct reg {
	struct ats_map *byid;
	size_t max;
	int dir;
};

void
session_free(struct session *s)
{
	if (s == NULL)
		return;
	free(s->workspace);
	free(s->key);
	free(s);
}

static void
make_id(char letter, uint64_t uid, const char *real, const char *key, char out[SESSION_ID_MAX])
{
	struct ats_sha256 *h = ats_sha256_new();
	char hex[ATS_SHA256_HEX], number[24];
	int n = snprintf(number, sizeof(number), "%" PRIu64, uid);

	out[0] = '\0';
	if (h == NULL)
		return;
	ats_sha256_add(h, number, (size_t)n + 1);
	ats_sha256_add(h, real, strlen(real) + (key != NULL));
	if (key != NULL)
		ats_sha256_add(h, key, strlen(key));
	ats_sha256_finish(h, hex);
	(void)snprintf(out, SESSION_ID_MAX, "%c-%.12s", letter, hex);
}

static struct session *
session_new(uint64_t uid, const char *real, const char *key)
{
	struct session *s = ats_calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->uid = uid;
	s->workspace = ats_strdup(real);
	s->key = ats_strdup(key);
	make_id('s', uid, real, key, s->id);
	make_id('b', uid, real, NULL, s->box);
	if (s->workspace == NULL || s->key == NULL || s->id[0] == '\0' || s->box[0] == '\0') {
		session_free(s);
		return NULL;
	}
	reg_touch(s);
	return s;
}

void
reg_touch(struct session *s)
{
	s->used_ms = ats_clock_wall_ms();
}

/* ---- the file ---------------------------------------------------------------------- */

static int
add_word(struct ats_buf *out, const char *s, char end)
{
	int rc = 0;

	for (; rc == 0 && *s != '\0'; s++) {
		unsigned char c = (unsigned char)*s;

		if (c <= ' ' || c == '%' || c >= 0x7f)
			rc = ats_buf_addf(out, "%%%02x", c);
		else
			rc = ats_buf_add_char(out, *s);
	}
	return rc == 0 ? ats_buf_add_char(out, end) : rc;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. False when an escape is cut or makes a NUL. */
static bool
unescape(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++) {
		int hi, lo;

		if (*s != '%') {
			*to++ = *s;
			continue;
		}
		hi = hex_digit(s[1]);
		lo = hi >= 0 ? hex_digit(s[2]) : -1;
		if (lo < 0 || (hi | lo) == 0)
			return false;
		*to++ = (char)(hi << 4 | lo);
		s += 2;
	}
	*to = '\0';
	return true;
}

static int
save_to(const struct reg *r, int fd)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	struct session *s;
	int rc = 0;

	ats_buf_init(&out, FILE_MAX);
	for (size_t i = 0; rc == 0 && (s = ats_map_each(r->byid, &i)) != NULL;) {
		rc = ats_buf_addf(&out, "%s %" PRIu64 " %" PRId64 " ", s->id, s->uid,
		    s->used_ms);
		if (rc == 0)
			rc = add_word(&out, s->key, ' ');
		if (rc == 0)
			rc = add_word(&out, s->workspace, '\n');
	}
	return rc < 0 ? rc : ats_fd_write_all(fd, out.data, out.len);
}

/* A whole new file, then a rename: a reader sees the old or the new one. A failure costs
 * finding the session again after a restart by its id, nothing else: it is logged. */
static void
save(const struct reg *r)
{
	int fd ATS_CLEANUP_FD = openat(r->dir, "sessions.new",
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || save_to(r, fd) < 0 ||
	    renameat(r->dir, "sessions.new", r->dir, "sessions") < 0)
		ats_log(ATS_LOG_WARN, "cannot save the sessions", "error=\"%s\"",
		    strerror(errno));
}

struct loading {
	struct reg *r;
	int64_t oldest_ms;
};

static bool
load_line(void *ctx, char *line)
{
	const struct loading *l = ctx;
	char *save_p = NULL, *id = strtok_r(line, " ", &save_p),
	     *uid = strtok_r(NULL, " ", &save_p), *used = strtok_r(NULL, " ", &save_p),
	     *key = strtok_r(NULL, " ", &save_p), *ws = strtok_r(NULL, " ", &save_p);
	struct session *s;

	if (ws == NULL || strtok_r(NULL, " ", &save_p) != NULL || !unescape(key) ||
	    !unescape(ws) || ws[0] != '/')
		return false;
	s = session_new(strtoull(uid, NULL, 10), ws, key);
	if (s == NULL)
		return false;
	s->used_ms = strtoll(used, NULL, 10);
	/* The id follows from the rest: an edited line is not what it says. */
	if (strcmp(s->id, id) != 0) {
		session_free(s);
		return false;
	}
	if (s->used_ms < l->oldest_ms || ats_map_put_str(l->r->byid, s->id, s) < 0)
		session_free(s);
	return true;
}

int
reg_open(const char *dir, size_t max, int64_t max_age_ms, struct reg **ret,
    struct ats_err *err)
{
	struct reg *r = ats_calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "sessions: out of memory");
	r->max = max;
	r->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	r->byid = ats_map_new(max);
	if (r->dir < 0)
		rc = ats_err_sys(err, "%s", dir);
	else if (r->byid == NULL)
		rc = ats_err_set(err, ATS_E_NOMEM, "sessions: out of memory");
	else
		rc = lines_load(r->dir, "sessions", FILE_MAX, load_line,
		    &(struct loading){ r, ats_clock_wall_ms() - max_age_ms }, err);
	if (rc < 0) {
		reg_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void
reg_free(struct reg *r)
{
	struct session *s;

	if (r == NULL)
		return;
	for (size_t i = 0; r->byid != NULL && (s = ats_map_each(r->byid, &i)) != NULL;)
		session_free(s);
	ats_map_free(r->byid);
	ats_fd_close(&r->dir);
	free(r);
}

/* ---- the table --------------------------------------------------------------------- */

struct session *
reg_find(const struct reg *r, const char *id)
{
	return ats_map_get_str(r->byid, id);
}

static bool
is_of(const struct session *s, uint64_t uid, const char *real)
{
	return s->uid == uid && strcmp(s->workspace, real) == 0;
}

struct session *
reg_find_named(const struct reg *r, uint64_t uid, const char *real, const char *key)
{
	struct session *s;
	char id[SESSION_ID_MAX];

	make_id('s', uid, real, key, id);
	s = reg_find(r, id);
	return s != NULL && is_of(s, uid, real) && strcmp(s->key, key) == 0 ? s : NULL;
}

struct session *
reg_find_box(const struct reg *r, const char *box)
{
	struct session *s;

	for (size_t i = 0; (s = ats_map_each(r->byid, &i)) != NULL;)
		if (strcmp(s->box, box) == 0)
			return s;
	return NULL;
}

struct session *
reg_take(struct reg *r, const char *id)
{
	struct session *s = ats_map_del_str(r->byid, id);

	if (s != NULL)
		save(r);
	return s;
}

size_t
reg_count(const struct reg *r)
{
	return ats_map_count(r->byid);
}

struct session *
reg_each(const struct reg *r, size_t *pos)
{
	return ats_map_each(r->byid, pos);
}

/* The one unused longest, if that is long enough to be forgotten. */
static struct session *
oldest(const struct reg *r, bool of_all, uint64_t uid)
{
	struct session *s, *old = NULL;

	for (size_t i = 0; (s = ats_map_each(r->byid, &i)) != NULL;)
		if ((of_all || s->uid == uid) && (old == NULL || s->used_ms < old->used_ms))
			old = s;
	if (old == NULL || old->used_ms > ats_clock_wall_ms() - UNUSED_MS)
		return NULL;
	return old;
}

static const struct session *
left_by(const struct reg *r, const char *at, const char *real)
{
	const struct session *s;

	for (size_t i = 0; (s = ats_map_each(r->byid, &i)) != NULL;)
		if (ats_path_is_within(s->workspace, at) &&
		    !ats_path_is_within(s->workspace, real))
			return s;
	return NULL;
}

int
reg_check_way(const struct reg *r, const char *path, const char *real, struct ats_err *err)
{
	char prefix[ATS_PATH_MAX], at[PATH_MAX];
	const struct session *s = NULL;

	if (strcmp(path, real) == 0 || strlen(path) >= sizeof(prefix))
		return 0;
	for (size_t i = 1; s == NULL && path[i] != '\0'; i++) {
		if (path[i] != '/')
			continue;
		memcpy(prefix, path, i);
		prefix[i] = '\0';
		if (realpath(prefix, at) == NULL)
			return ats_err_sys(err, "%s", prefix);
		s = left_by(r, at, real);
	}
	if (s == NULL)
		return 0;
	return ats_err_set(err, ATS_E_INVAL,
	    "%s: a symbolic link or .. leads out of the workspace %s; name the directory itself",
	    path, s->workspace);
}

static size_t
count_of(const struct reg *r, uint64_t uid)
{
	const struct session *s;
	size_t n = 0;

	for (size_t i = 0; (s = ats_map_each(r->byid, &i)) != NULL;)
		n += s->uid == uid;
	return n;
}

/* Ids are short: who computes long enough finds one that somebody else's directory has, and the
 * sandbox of the two would be in either's, as either's user. */
static bool
is_anothers(const struct reg *r, const struct session *s)
{
	const struct session *same = reg_find(r, s->id), *beside = reg_find_box(r, s->box);

	return (same != NULL &&
		   (!is_of(same, s->uid, s->workspace) || strcmp(same->key, s->key) != 0)) ||
	    (beside != NULL && !is_of(beside, s->uid, s->workspace));
}

int
reg_add(struct reg *r, uint64_t uid, const char *real, const char *key, struct session **ret,
    struct session **ret_gone, struct ats_err *err)
{
	struct session *s, *known, *gone = NULL;
	bool counts;
	size_t mine;

	if (key[0] == '\0' || strlen(key) > SESSION_KEY_MAX)
		return ats_err_set(err, ATS_E_INVAL, "session key: 1 to %d bytes",
		    SESSION_KEY_MAX);
	s = session_new(uid, real, key);
	if (s == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "session: out of memory");
	*ret_gone = NULL;
	if (is_anothers(r, s)) {
		session_free(s);
		return ats_err_set(err, ATS_E_EXISTS,
		    "%s: its id is that of another one; name another directory or session", real);
	}
	known = reg_find(r, s->id);
	if (known != NULL) {
		session_free(s);
		reg_touch(known);
		*ret = known;
		return 0;
	}
	/* Users of the machine share what there is. */
	mine = count_of(r, uid);
	counts = ats_share_counts(uid, getuid());
	if (!ats_share_has_room(r->max, ats_map_count(r->byid), counts ? mine : 0)) {
		gone = oldest(r, !counts || mine == 0, uid);
		if (gone == NULL) {
			session_free(s);
			return ats_err_set(err, ATS_E_FULL,
			    "%zu sessions, %zu of them yours; limits.sessions is %zu, of which a "
			    "user has half of what others leave; close some",
			    ats_map_count(r->byid), mine, r->max);
		}
		(void)ats_map_del_str(r->byid, gone->id);
	}
	if (ats_map_put_str(r->byid, s->id, s) < 0) {
		session_free(s);
		session_free(gone);
		return ats_err_set(err, ATS_E_NOMEM, "session: out of memory");
	}
	save(r);
	*ret = s;
	*ret_gone = gone;
	return 0;
}
