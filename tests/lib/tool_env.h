/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake tool_env over a temporary directory: BASE/ws (writable, cwd), BASE/home (writable),
 * BASE/ro (read-only), and BASE/ws-evil and BASE/out outside the roots. Read-state that a
 * result reports is kept for the next call, as the engine does. */
#ifndef ATS_TESTS_LIB_TOOL_ENV_H
#define ATS_TESTS_LIB_TOOL_ENV_H

#include "common/fd.h"
#include "common/json.h"
#include "hands/fs/file.h"
#include "tests/lib/unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENV_READS 64

struct fake_env {
	char base[64], ws[80], home[80], ro[80];
	struct tool_root roots[3];
	struct tool_read reads[ENV_READS];
	struct tool_env env;
	struct tool_result res;
};

static inline void
fake_start(struct fake_env *f)
{
	char *paths[3] = { f->ws, f->home, f->ro };
	char other[96];

	memset(f, 0, sizeof(*f));
	strcpy(f->base, "/tmp/ats-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(f->base));
	snprintf(f->ws, sizeof(f->ws), "%s/ws", f->base);
	snprintf(f->home, sizeof(f->home), "%s/home", f->base);
	snprintf(f->ro, sizeof(f->ro), "%s/ro", f->base);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(mkdir(paths[i], 0755), 0);
		f->roots[i] = (struct tool_root){ .path = paths[i], .writable = i < 2,
			.fd = open(paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC) };
	}
	snprintf(other, sizeof(other), "%s/ws-evil", f->base);
	ck_assert_int_eq(mkdir(other, 0755), 0);
	snprintf(other, sizeof(other), "%s/out", f->base);
	ck_assert_int_eq(mkdir(other, 0755), 0);
	f->env = (struct tool_env){ .roots = f->roots, .nroots = 3, .cwd = f->ws, .home = f->home,
		.reads = f->reads };
	tool_result_init(&f->res, 4u << 20);
}

static inline int
fake_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void
fake_forget(struct fake_env *f)
{
	for (size_t i = 0; i < f->env.nreads; i++) {
		free((char *)(uintptr_t)f->reads[i].path);
		free((char *)(uintptr_t)f->reads[i].sha256);
	}
	f->env.nreads = 0;
}

static inline void
fake_stop(struct fake_env *f)
{
	fake_forget(f);
	tool_result_done(&f->res);
	for (int i = 0; i < 3; i++)
		close(f->roots[i].fd);
	nftw(f->base, fake_remove, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Absolute path of a name below BASE; four at a time. */
static inline const char *
fake_path(struct fake_env *f, const char *name)
{
	static char buf[4][4200];
	static int at;

	at = (at + 1) % 4;
	snprintf(buf[at], sizeof(buf[at]), "%s/%s", f->base, name);
	return buf[at];
}

static inline void
fake_put(struct fake_env *f, const char *name, const void *p, size_t n)
{
	int fd = open(fake_path(f, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	ck_assert_msg(fd >= 0, "%s", name);
	ck_assert_int_eq(ats_fd_write_all(fd, p, n), 0);
	close(fd);
}

static inline void
fake_put_str(struct fake_env *f, const char *name, const char *s)
{
	fake_put(f, name, s, strlen(s));
}

static inline void
fake_expect(struct fake_env *f, const char *name, const void *p, size_t n)
{
	char *got = NULL;
	size_t len = 0;

	ck_assert_int_eq(ats_fd_slurp(AT_FDCWD, fake_path(f, name), 128u << 20, &got, &len,
	    NULL), 0);
	ck_assert_msg(len == n && memcmp(got, p, n) == 0, "%s holds %zu bytes, not these %zu: "
	    "\"%.200s\"", name, len, n, len < 4096 ? got : "...");
	free(got);
}

static inline void
fake_expect_str(struct fake_env *f, const char *name, const char *s)
{
	fake_expect(f, name, s, strlen(s));
}

static inline void
fake_expect_entries(struct fake_env *f, const char *name, int want)
{
	DIR *d = opendir(fake_path(f, name));
	int n = -2;

	ck_assert_ptr_nonnull(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	ck_assert_msg(n == want, "%s has %d entries, not %d", name, n, want);
}

static inline void
fake_keep_reads(struct fake_env *f)
{
	struct ats_buf all;
	struct ats_json_iter it;
	struct ats_json_val v, m;
	struct ats_slice key;

	ats_buf_init(&all, 1u << 20);
	ck_assert_int_eq(ats_buf_addf(&all, "[%s]", f->res.reads.data), 0);
	ck_assert_int_eq(ats_json_scan(all.data, all.len, NULL), 0);
	ats_json_iter_init(&it, (struct ats_slice){ all.data, all.len });
	while (ats_json_next(&it, &key, &v)) {
		struct tool_read r = { 0 }, *to = NULL;

		ck_assert(ats_json_get(v.raw, "path", &m));
		r.path = ats_json_dup_str(&m);
		ck_assert(ats_json_get(v.raw, "sha256", &m));
		r.sha256 = ats_json_dup_str(&m);
		ck_assert(ats_json_get(v.raw, "size", &m) && ats_json_to_u64(&m, &r.size) == 0);
		ck_assert(ats_json_get(v.raw, "mtime_ns", &m) &&
		    ats_json_to_u64(&m, &r.mtime_ns) == 0);
		for (size_t i = 0; i < f->env.nreads; i++)
			if (strcmp(f->reads[i].path, r.path) == 0)
				to = &f->reads[i];
		if (to == NULL)
			to = &f->reads[f->env.nreads++];
		else {
			free((char *)(uintptr_t)to->path);
			free((char *)(uintptr_t)to->sha256);
		}
		*to = r;
	}
	ats_buf_done(&all);
}

/* Runs a tool; the result's text is returned, and is in f->res until the next run. */
static inline const char *
fake_run(struct fake_env *f, const struct tool *t, const void *in)
{
	tool_result_done(&f->res);
	tool_result_init(&f->res, 4u << 20);
	ck_assert_int_eq(t->run(&f->env, in, &f->res), 0);
	if (f->res.output.len > 0)
		ck_assert_int_eq(ats_json_scan(f->res.output.data, f->res.output.len, NULL), 0);
	fake_keep_reads(f);
	return f->res.text.data;
}

extern const struct tool tool_read, tool_write, tool_edit, tool_ls;

static inline const char *
fake_read(struct fake_env *f, const char *path, uint64_t offset, uint64_t limit)
{
	struct ats_in_read in = { .file_path = path, .offset = offset, .has_offset = offset > 0,
		.limit = limit, .has_limit = limit > 0 };

	return fake_run(f, &tool_read, &in);
}

static inline const char *
fake_write(struct fake_env *f, const char *path, const char *content)
{
	struct ats_in_write in = { .file_path = path, .content = content };

	return fake_run(f, &tool_write, &in);
}

static inline const char *
fake_edit(struct fake_env *f, const char *path, const char *old, const char *new_text, bool all)
{
	struct ats_in_edit in = { .file_path = path, .old_string = old, .new_string = new_text,
		.replace_all = all, .has_replace_all = all };

	return fake_run(f, &tool_edit, &in);
}

static inline void
fake_expect_code(struct fake_env *f, int code)
{
	ck_assert_msg(f->res.is_error == (code != 0) && f->res.code == code,
	    "code %s, not %s: %s", ats_err_name(f->res.code), ats_err_name(code),
	    f->res.text.data);
}

#endif
