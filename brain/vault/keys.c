/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of links over a network, and the file of which counts. Runs in the vault, the only
 * process that has the master; ids are of registered sessions. */
#include "brain/vault/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brain/vault/lines.h"
#include "common/buf.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/fault.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/map.h"
#include "common/secret.h"

#define MASTER "link.master"
#define MASTER_BYTES 32
#define FILE_MAX (4u << 20)

struct keys {
	struct ats_map *byid;
	struct ats_secret *master;	/* NULL until it is needed */
	size_t max;
	int dir;
};

/* ---- the master -------------------------------------------------------------------- */

static int
check_master(int fd, struct ats_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ats_err_sys(err, MASTER);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_size != MASTER_BYTES)
		return ats_err_set(err, ATS_E_INVAL, MASTER " in the state directory is not a "
		    "file of %d bytes; put it back, or remove it and enroll all sandboxes anew",
		    MASTER_BYTES);
	if (st.st_uid != geteuid() || (st.st_mode & 07777) != 0600)
		return ats_err_set(err, ATS_E_PERM, MASTER " in the state directory has mode "
		    "%04o and owner %u, not 0600 and %u; if nobody else read it, mend that, else "
		    "remove it and enroll all sandboxes anew", (unsigned)(st.st_mode & 07777),
		    (unsigned)st.st_uid, (unsigned)geteuid());
	return 0;
}

static int
read_master(struct keys *k, int fd, struct ats_err *err)
{
	unsigned char bytes[MASTER_BYTES];
	int rc = check_master(fd, err);

	if (rc == 0 && ats_fd_read(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
		rc = ats_err_sys(err, MASTER ": read");
	if (rc == 0)
		rc = ats_secret_new(bytes, sizeof(bytes), &k->master, err);
	ats_secret_wipe(bytes, sizeof(bytes));
	return rc;
}

/* Whole and on the disk before it has its name: a key is never given out of a master that a
 * crash takes back. */
static int
make_master(struct keys *k, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = openat(k->dir, MASTER ".new",
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct ats_secret *s = NULL;
	int rc;

	if (fd < 0)
		return ats_err_sys(err, MASTER);
	rc = ats_secret_random(MASTER_BYTES, &s, err);
	if (rc < 0)
		return rc;
	if (fchmod(fd, 0600) < 0 ||
	    ats_fd_write_all(fd, ats_secret_bytes(s, NULL), MASTER_BYTES) < 0 || fsync(fd) < 0 ||
	    renameat(k->dir, MASTER ".new", k->dir, MASTER) < 0 || fsync(k->dir) < 0) {
		rc = ats_err_sys(err, MASTER);
		ats_secret_free(s);
		return rc;
	}
	k->master = s;
	return 0;
}

static int
need_master(struct keys *k, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = -1;

	if (k->master != NULL)
		return 0;
	fd = openat(k->dir, MASTER, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0)
		return read_master(k, fd, err);
	return errno == ENOENT ? make_master(k, err) : ats_err_sys(err, MASTER);
}

static void
hmac_of_master(const struct keys *k, const void *p, size_t n, unsigned char ret[ATS_PROVE_KEY])
{
	ats_hmac_sha256(ats_secret_bytes(k->master, NULL), MASTER_BYTES, p, n, ret);
}

int
keys_derive(struct keys *k, const char *id, uint64_t generation,
    unsigned char ret_key[ATS_PROVE_KEY], struct ats_err *err)
{
	unsigned char what[sizeof("link") + SESSION_ID_MAX + 8];
	size_t n = strlen(id) + 1;
	int rc = need_master(k, err);

	if (rc < 0)
		return rc;
	ATS_BUG(n > SESSION_ID_MAX);
	memcpy(what, "link", sizeof("link"));
	memcpy(what + sizeof("link"), id, n);
	n += sizeof("link");
	for (unsigned i = 0; i < 8; i++)
		what[n++] = (unsigned char)(generation >> (56 - 8 * i));
	hmac_of_master(k, what, n, ret_key);
	return 0;
}

int
keys_tls_seed(struct keys *k, unsigned char ret_seed[ATS_PROVE_KEY], struct ats_err *err)
{
	int rc = need_master(k, err);

	if (rc == 0)
		hmac_of_master(k, "tls brain", strlen("tls brain"), ret_seed);
	return rc;
}

int
keys_text(struct keys *k, const struct enrolled *en, const char *pin, char out[KEYS_TEXT_MAX],
    struct ats_err *err)
{
	unsigned char key[ATS_PROVE_KEY];
	char hex[2 * ATS_PROVE_KEY + 1];
	int rc = keys_derive(k, en->id, en->generation, key, err);

	if (rc < 0)
		return rc;
	ats_hex(key, sizeof(key), hex);
	(void)snprintf(out, KEYS_TEXT_MAX, "ats1:%s:%" PRIu64 ":%s%s%s", en->id, en->generation,
	    hex, pin != NULL ? ":" : "", pin != NULL ? pin : "");
	ats_secret_wipe(key, sizeof(key));
	ats_secret_wipe(hex, sizeof(hex));
	return 0;
}

/* ---- the file ---------------------------------------------------------------------- */

static int
write_all(const struct keys *k, int fd)
{
	struct ats_buf out ATS_CLEANUP_BUF = { 0 };
	const struct enrolled *en;
	int rc = 0;

	ats_buf_init(&out, FILE_MAX);
	for (size_t i = 0; rc == 0 && (en = ats_map_each(k->byid, &i)) != NULL;)
		rc = ats_buf_addf(&out, "%s %" PRIu64 " %" PRIu64 " %" PRId64 "\n", en->id,
		    en->generation, en->previous, en->at_ms);
	return rc < 0 ? rc : ats_fd_write_all(fd, out.data, out.len);
}

/* A whole new file, then a rename. It must be on the disk: a key that was taken back must not
 * count again after a crash. */
static int
save(const struct keys *k, struct ats_err *err)
{
	int fd ATS_CLEANUP_FD = openat(k->dir, "enrolled.new",
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || write_all(k, fd) < 0 || fsync(fd) < 0 ||
	    renameat(k->dir, "enrolled.new", k->dir, "enrolled") < 0 || fsync(k->dir) < 0)
		return ats_err_sys(err, "cannot save what is enrolled");
	return 0;
}

static bool
number(const char *s, uint64_t *ret)
{
	char *end = NULL;

	if (s == NULL || *s < '0' || *s > '9')
		return false;
	errno = 0;
	*ret = strtoull(s, &end, 10);
	return errno == 0 && *end == '\0';
}

static bool
load_line(void *ctx, char *line)
{
	struct keys *k = ctx;
	char *save_p = NULL, *id = strtok_r(line, " ", &save_p);
	struct enrolled *en;
	uint64_t generation = 0, previous = 0, at = 0;

	if (id == NULL || !ats_id_valid(id) || strlen(id) >= sizeof(en->id) ||
	    !number(strtok_r(NULL, " ", &save_p), &generation) || generation == 0 ||
	    !number(strtok_r(NULL, " ", &save_p), &previous) || previous >= generation ||
	    !number(strtok_r(NULL, " ", &save_p), &at) || at > INT64_MAX ||
	    strtok_r(NULL, " ", &save_p) != NULL || keys_find(k, id) != NULL)
		return false;
	en = ats_calloc(1, sizeof(*en));
	if (en == NULL)
		return false;
	(void)snprintf(en->id, sizeof(en->id), "%s", id);
	en->generation = generation;
	en->previous = previous;
	en->at_ms = (int64_t)at;
	if (ats_map_put_str(k->byid, en->id, en) == 0)
		return true;
	free(en);
	return false;
}

int
keys_open(const char *dir, size_t max, struct keys **ret, struct ats_err *err)
{
	struct keys *k = ats_calloc(1, sizeof(*k));
	int rc;

	if (k == NULL)
		return ats_err_set(err, ATS_E_NOMEM, "keys: out of memory");
	k->max = max;
	k->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	k->byid = ats_map_new(max);
	if (k->dir < 0)
		rc = ats_err_sys(err, "%s", dir);
	else if (k->byid == NULL)
		rc = ats_err_set(err, ATS_E_NOMEM, "keys: out of memory");
	else
		rc = lines_load(k->dir, "enrolled", FILE_MAX, load_line, k, err);
	if (rc < 0) {
		keys_free(k);
		return rc;
	}
	*ret = k;
	return 0;
}

void
keys_free(struct keys *k)
{
	struct enrolled *en;

	if (k == NULL)
		return;
	for (size_t i = 0; k->byid != NULL && (en = ats_map_each(k->byid, &i)) != NULL;)
		free(en);
	ats_map_free(k->byid);
	ats_secret_free(k->master);
	ats_fd_close(&k->dir);
	free(k);
}

/* ---- the table --------------------------------------------------------------------- */

struct enrolled *
keys_find(const struct keys *k, const char *id)
{
	return ats_map_get_str(k->byid, id);
}

size_t
keys_count(const struct keys *k)
{
	return ats_map_count(k->byid);
}

struct enrolled *
keys_each(const struct keys *k, size_t *pos)
{
	return ats_map_each(k->byid, pos);
}

/* Growing, and of the clock: not one that was revoked, of which nothing is remembered. */
static uint64_t
next_generation(const struct enrolled *en)
{
	uint64_t now = (uint64_t)ats_clock_wall_ms();

	return now > en->generation ? now : en->generation + 1;
}

static struct enrolled *
add(struct keys *k, const char *id, struct ats_err *err)
{
	struct enrolled *en;

	if (ats_map_count(k->byid) >= k->max) {
		(void)ats_err_set(err, ATS_E_FULL, "%zu sandboxes are enrolled, the limit "
		    "(limits.sessions); revoke some", k->max);
		return NULL;
	}
	en = ats_calloc(1, sizeof(*en));
	if (en != NULL)
		(void)snprintf(en->id, sizeof(en->id), "%s", id);
	if (en != NULL && ats_map_put_str(k->byid, en->id, en) == 0)
		return en;
	free(en);
	(void)ats_err_set(err, ATS_E_NOMEM, "keys: out of memory");
	return NULL;
}

int
keys_enroll(struct keys *k, const char *id, bool again, struct enrolled **ret,
    struct ats_err *err)
{
	struct enrolled *en = keys_find(k, id), before = { .generation = 0 };
	int rc = need_master(k, err);

	if (rc < 0)
		return rc;
	if (en != NULL && !again)
		return ats_err_set(err, ATS_E_EXISTS, "%s is enrolled already, and its key is "
		    "shown once; --rotate makes another", id);
	if (en != NULL) {
		before = *en;
	} else {
		en = add(k, id, err);
		if (en == NULL)
			return ats_map_count(k->byid) >= k->max ? -ATS_E_FULL : -ATS_E_NOMEM;
	}
	/* The last one that a hands has proven, or the first: one between them nobody has. */
	if (en->previous == 0)
		en->previous = en->generation;
	en->generation = next_generation(en);
	en->at_ms = ats_clock_wall_ms();
	en->owed = true;
	rc = save(k, err);
	if (rc == 0) {
		*ret = en;
		return 0;
	}
	if (before.generation != 0)
		*en = before;
	else
		free(ats_map_del_str(k->byid, id));
	return rc;
}

int
keys_revoke(struct keys *k, const char *id, struct ats_err *err)
{
	struct enrolled *en = ats_map_del_str(k->byid, id);

	if (en == NULL)
		return ats_err_set(err, ATS_E_UNKNOWN_ID, "%s is not enrolled", id);
	free(en);
	/* What could not be written down is said, and revoked as long as brain runs. */
	return save(k, err);
}

bool
keys_proven(struct keys *k, const char *id, uint64_t generation)
{
	struct enrolled *en = keys_find(k, id);
	struct ats_err err = { 0 };

	if (en == NULL || en->previous == 0 || en->generation != generation)
		return false;
	en->previous = 0;
	if (save(k, &err) < 0)
		ats_log(ATS_LOG_WARN, "an old key counts again after a restart",
		    "sandbox=%s why=\"%s\"", id, err.text);
	return true;
}
