/* SPDX-License-Identifier: Apache-2.0
 *
 * Names from agents over a small tree with hostile symlinks. Input: a byte with how many
 * links, for each a length and its target (%r and %o stand for the root and for a
 * directory outside); then the name. A place is normalised and below its root; where a
 * name leads is where realpath(3) says, or an error when that lies outside; and what
 * comes out has no symlink. */
#include "hands/fs/file.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

static char base[] = "/tmp/ats-fuzz-place-XXXXXX";
static char root_path[64], inner_path[64], outside_path[64];
static struct tool_root roots[2];
static int base_fd = -1;
/* Where links are made; the last is outside. */
static const char *const links[] = { "r/l", "r/a/m", "r/a/b/n", "r/i/k", "o/p" };
static const char *const dirs[] = { "r", "r/a", "r/a/b", "r/i", "o", "o/q" };
static const char *const files[] = { "r/f", "r/a/g", "o/secret", "r/x\xffy" };

static void
remove_links(void)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(links); i++)
		(void)unlinkat(base_fd, links[i], 0);
}

static void
remove_tree(void)
{
	remove_links();
	for (size_t i = 0; i < ATS_ARRAY_LEN(files); i++)
		(void)unlinkat(base_fd, files[i], 0);
	for (size_t i = ATS_ARRAY_LEN(dirs); i-- > 0;)
		(void)unlinkat(base_fd, dirs[i], AT_REMOVEDIR);
	(void)rmdir(base);
}

static void
make_tree(void)
{
	FUZZ_CHECK(mkdtemp(base) != NULL);
	base_fd = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	FUZZ_CHECK(base_fd >= 0 && atexit(remove_tree) == 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(dirs); i++)
		FUZZ_CHECK(mkdirat(base_fd, dirs[i], 0700) == 0);
	for (size_t i = 0; i < ATS_ARRAY_LEN(files); i++) {
		int fd = openat(base_fd, files[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		FUZZ_CHECK(fd >= 0);
		(void)close(fd);
	}
	(void)snprintf(root_path, sizeof(root_path), "%s/r", base);
	(void)snprintf(inner_path, sizeof(inner_path), "%s/r/i", base);
	(void)snprintf(outside_path, sizeof(outside_path), "%s/o", base);
	roots[0] = (struct tool_root){ .path = root_path,
		.writable = true,
		.fd = openat(base_fd, "r", O_PATH | O_DIRECTORY | O_CLOEXEC) };
	roots[1] = (struct tool_root){ .path = inner_path,
		.fd = openat(base_fd, "r/i", O_PATH | O_DIRECTORY | O_CLOEXEC) };
	FUZZ_CHECK(roots[0].fd >= 0 && roots[1].fd >= 0);
}

/* A string with the places of this run in it; owned. */
static char *
named(struct ats_slice s)
{
	struct ats_buf out;
	char *text;

	ats_buf_init(&out, 64u << 10);
	for (size_t i = 0; i < s.n && s.p[i] != '\0'; i++) {
		bool mark = s.p[i] == '%' && i + 1 < s.n;

		if (mark && (s.p[i + 1] == 'r' || s.p[i + 1] == 'o'))
			FUZZ_CHECK(ats_buf_add_str(&out,
				       s.p[++i] == 'r' ? root_path : outside_path) == 0);
		else
			FUZZ_CHECK(ats_buf_add_char(&out, s.p[i]) == 0);
	}
	text = ats_buf_steal(&out, NULL);
	FUZZ_CHECK(text != NULL);
	return text;
}

static bool
is_below(const char *path)
{
	size_t n = strlen(root_path);

	return strncmp(path, root_path, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static void
check_place(const struct fs_place *pl)
{
	size_t n = strlen(pl->path);

	FUZZ_CHECK(is_below(pl->path) && n < sizeof(pl->path) && pl->path[n - 1] != '/');
	FUZZ_CHECK(strstr(pl->path, "//") == NULL && strstr(pl->path, "/./") == NULL &&
		   strstr(pl->path, "/../") == NULL);
	FUZZ_CHECK(n < 3 || strcmp(pl->path + n - 3, "/..") != 0);
	FUZZ_CHECK(
	    pl->root ==
	    fs_root_of(&(struct tool_env){ .roots = roots, .nroots = 2 }, pl->path));
	FUZZ_CHECK(strncmp(pl->path, pl->root->path, strlen(pl->root->path)) == 0);
	FUZZ_CHECK(strcmp(pl->rel, ".") == 0
		       ? strcmp(pl->path, pl->root->path) == 0
		       : strcmp(pl->path + strlen(pl->root->path) + 1, pl->rel) == 0);
}

static void
check_name(const char *name, bool may_return)
{
	const struct tool_env env = {
		.roots = roots, .nroots = 2, .cwd = root_path, .home = inner_path
	};
	struct fs_place pl, found;
	struct ats_err err = { 0 };
	char real[PATH_MAX];
	bool exists;
	int rc = fs_place(&env, name, &pl, &err), fd;

	FUZZ_CHECK(rc == 0 || (err.code == -rc && err.text[0] != '\0'));
	if (rc < 0)
		return;
	check_place(&pl);
	exists = realpath(pl.path, real) != NULL;
	rc = fs_resolve(&env, &pl, &found, &err);
	FUZZ_CHECK(rc == 0 || (err.code == -rc && err.text[0] != '\0'));
	/* The link outside, which might lead back, is not looked at: it is outside
	 * already */
	if (exists && is_below(real))
		FUZZ_CHECK(rc == 0 ? strcmp(found.path, real) == 0
				   : rc == -ATS_E_ESCAPES && may_return);
	if (exists && !is_below(real))
		FUZZ_CHECK(rc == -ATS_E_ESCAPES);
	if (rc < 0)
		return;
	check_place(&found);
	fd = fs_beneath_plain(found.root->fd, found.rel, O_PATH, 0);
	FUZZ_CHECK(
	    fd >= 0 || errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG);
	if (fd >= 0)
		(void)close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned n = fuzz_byte(&in) % (ATS_ARRAY_LEN(links) + 1);
	char *name;

	if (base_fd < 0)
		make_tree();
	if (size > 6000)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		char *target = named(fuzz_bytes(&in, fuzz_byte(&in)));

		(void)!symlinkat(target, base_fd, links[i]);
		free(target);
	}
	name = named(fuzz_bytes(&in, in.n));
	check_name(name, n == ATS_ARRAY_LEN(links));
	remove_links();
	free(name);
	return 0;
}
