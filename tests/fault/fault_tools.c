/* SPDX-License-Identifier: Apache-2.0
 *
 * The file tools with failing allocations: a file is the old one or the new one, and nothing
 * lies beside it. Their checks leave everything as it is. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/digest.h"
#include "common/fd.h"
#include "hands/fs/file.h"
#include "tests/fault/fault.h"

extern const struct tool tool_read, tool_edit, tool_write, tool_ls;

static const char before[] = "one\r\ntwo\r\nthree\r\n", after[] = "one\r\n2\r\n3\r\nthree\r\n";
static char dir[] = "/tmp/ats-fault-XXXXXX";

static bool
run(const struct tool *t, const struct tool_env *env, const void *in)
{
	struct tool_result res;
	bool done;
	int rc;

	tool_result_init(&res, 3u << 20);
	rc = env->check_only ? t->check(env, in, &res) : t->run(env, in, &res);
	done = fault_ok(rc == 0 && res.is_error ? -res.code : rc, "tool");
	tool_result_done(&res);
	return done;
}

/* Whether the file has this text. */
static bool
is_file(int dirfd, const char *name, const char *want)
{
	char text[64] = "";
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		exit(FAULT_BROKEN);
	close(fd);
	return strcmp(text, want) == 0;
}

static void
file_tools(int dirfd)
{
	struct tool_root root = { .path = dir, .fd = dirfd, .writable = true };
	char path[64], sha[ATS_SHA256_HEX];
	struct tool_read seen = { .path = path, .size = sizeof(before) - 1, .sha256 = sha };
	struct tool_env env = { .roots = &root, .nroots = 1, .cwd = dir, .home = dir,
		.reads = &seen, .nreads = 1 };
	struct ats_in_read in_read = { .file_path = "f" };
	struct ats_in_edit in_edit = { .file_path = "f", .old_string = "two\nthree",
		.new_string = "2\n3\nthree" };
	struct ats_in_write in_write = { .file_path = "new/g", .content = "x\n" };
	struct ats_in_ls in_ls = { .path = "." };

	(void)snprintf(path, sizeof(path), "%s/f", dir);
	ats_sha256_hex(before, sizeof(before) - 1, sha);
	env.check_only = true;
	(void)run(&tool_read, &env, &in_read);
	(void)run(&tool_edit, &env, &in_edit);
	(void)run(&tool_write, &env, &in_write);
	(void)run(&tool_ls, &env, &in_ls);
	if (!is_file(dirfd, "f", before) || faccessat(dirfd, "new", F_OK, 0) == 0)
		exit(FAULT_BROKEN);
	env.check_only = false;
	(void)run(&tool_read, &env, &in_read);
	if (run(&tool_edit, &env, &in_edit) && !is_file(dirfd, "f", after))
		exit(FAULT_BROKEN);
	if (!is_file(dirfd, "f", before) && !is_file(dirfd, "f", after))
		exit(FAULT_BROKEN);
	(void)run(&tool_ls, &env, &in_ls);
	if (run(&tool_write, &env, &in_write) && !is_file(dirfd, "new/g", "x\n"))
		exit(FAULT_BROKEN);
}

int
main(void)
{
	int dirfd, fd;

	if (mkdtemp(dir) == NULL)
		return FAULT_BROKEN;
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(dirfd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || ats_fd_write_all(fd, before, sizeof(before) - 1) < 0)
		return FAULT_BROKEN;
	close(fd);
	file_tools(dirfd);
	(void)unlinkat(dirfd, "f", 0);
	(void)unlinkat(dirfd, "new/g", 0);
	(void)unlinkat(dirfd, "new", AT_REMOVEDIR);
	close(dirfd);
	if (rmdir(dir) < 0)	/* a temporary was left */
		return FAULT_BROKEN;
	return fault_end();
}
