/* SPDX-License-Identifier: Apache-2.0
 *
 * Hidden files. Runs in tool workers; paths are hostile, the rules are the host's. */
#include "hands/fs/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/path.h"

#define RACES_MAX 16

bool
fs_hides(const struct tool_env *env)
{
	for (size_t i = 0; i < env->nroots; i++)
		if (env->roots[i].deny != NULL)
			return true;
	return false;
}

/* Each directory on the way, then the name. */
static bool
is_hidden(const struct ignore_rules *rules, const char *rel, bool is_dir)
{
	size_t at = 0, n;

	if (rules == NULL || strcmp(rel, ".") == 0)
		return false;
	for (;;) {
		n = at + strcspn(rel + at, "/");
		if (ignore_match(rules, rel, n, at, rel[n] == '/' || is_dir) == IGNORE_YES)
			return true;
		if (rel[n] == '\0')
			return false;
		at = n + 1;
	}
}

bool
fs_is_hidden(const struct fs_place *at, bool is_dir)
{
	return is_hidden(at->root->deny, at->rel, is_dir);
}

int
fs_hidden_error(const struct fs_place *pl, struct ats_err *err)
{
	return ats_err_set(err, ATS_E_DENIED,
	    "%.400s is hidden from tools by the host's configuration (sandbox.deny_read).",
	    pl->path);
}

int
fs_open_seen(const struct tool_env *env, const struct fs_place *pl, int flags,
    struct ats_err *err)
{
	bool is_dir = (flags & O_DIRECTORY) != 0;
	struct fs_place at;
	struct stat st;
	int fd = -1;

	for (int i = 0; fd < 0 && i < RACES_MAX; i++) {
		int rc;

		if (fs_is_hidden(pl, is_dir))
			return fs_hidden_error(pl, err);
		rc = fs_resolve(env, pl, &at, err);
		if (rc < 0)
			return rc;
		if (fs_is_hidden(&at, is_dir))
			return fs_hidden_error(pl, err);
		fd = fs_beneath_plain(at.root->fd, at.rel, flags, 0);
		/* A name became a link since it was looked at. */
		if (fd < 0 && errno != ELOOP)
			break;
	}
	if (fd >= 0 && !is_dir && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) &&
	    (fs_is_hidden(pl, true) || fs_is_hidden(&at, true))) {
		(void)close(fd);
		return fs_hidden_error(pl, err);
	}
	if (fd < 0 && errno == ENOTDIR && is_dir) {
		int other = fs_beneath_plain(at.root->fd, at.rel, O_PATH, 0);

		if (other < 0)
			return fs_open_error(env, pl, ENOTDIR, err);
		(void)close(other);
		return ats_err_set(
		    err, ATS_E_INVAL, "%.400s is not a directory.", pl->path);
	}
	return fd < 0 ? fs_open_error(env, pl, errno, err) : fd;
}

/* ---- listings ---------------------------------------------------------------------- */
/* A root with rules inside of a directory that is another root's, as a workspace in /tmp. */
static const struct tool_root *
rules_below(const struct tool_env *env, const char *dir, const char **ret_way)
{
	for (size_t i = 0; i < env->nroots; i++) {
		if (env->roots[i].deny == NULL || !ats_path_is_within(dir, env->roots[i].path))
			continue;
		*ret_way = ats_path_below(dir, env->roots[i].path);
		return &env->roots[i];
	}
	return NULL;
}

void
fs_hidden_below(const struct tool_env *env, const struct fs_place *pl,
    const char *walk_start, struct fs_hidden *ret)
{
	const struct tool_root *w;
	struct fs_place at;
	const char *way;

	ret->rules = NULL;
	ret->is_above = false;
	if (!fs_hides(env))
		return;
	if (fs_resolve(env, pl, &at, NULL) < 0) {	/* it was there a moment ago */
		at = *pl;
		at.rel = ats_path_below(at.root->path, at.path);
	}
	ret->rules = at.root->deny;
	ret->skip = walk_start[0] == '\0' ? 0 : strlen(walk_start) + 1;
	if (ret->rules == NULL && (w = rules_below(env, at.path, &way)) != NULL) {
		ret->rules = w->deny;
		ret->is_above = true;
		at.rel = way;
	}
	if (strcmp(at.rel, ".") == 0)
		ret->start[0] = '\0';
	else if (snprintf(ret->start, sizeof(ret->start), "%s/", at.rel) < 0)
		ret->rules = NULL;
}

bool
fs_hidden_match(const struct fs_hidden *h, const char *path, size_t n, size_t name_at,
    bool is_dir)
{
	size_t len = strlen(h->start);
	char real[3 * 4096] ATS_UNINITIALIZED;	/* for each entry of a tree */

	if (h->rules == NULL)
		return false;
	if (n < h->skip || len + n - h->skip >= sizeof(real))
		return true;	/* nobody knows: no list is worth a secret */
	if (h->is_above) {
		size_t at = h->skip + len;

		return n > at && memcmp(path + h->skip, h->start, len) == 0 &&
		       ignore_match(h->rules, path + at, n - at, name_at - at, is_dir) ==
			   IGNORE_YES;
	}
	memcpy(real, h->start, len);
	memcpy(real + len, path + h->skip, n - h->skip);
	real[len + n - h->skip] = '\0';
	return ignore_match(h->rules, real, len + n - h->skip, len + name_at - h->skip,
		   is_dir) == IGNORE_YES;
}
