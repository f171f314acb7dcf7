/* SPDX-License-Identifier: Apache-2.0
 *
 * toolrun [-H HOME] [-t N] [-m] [-r N] ROOT TOOL JSON: runs one tool without any confinement, N
 * times, with ROOT as the working directory and the only root, or HOME as another. Text on
 * stdout; with -r the median and least times on stderr, without the process's own start.
 * -t: as if the machine had N processors. -m: the peak of its memory on stderr.
 * toolrun [-H HOME] [-t N] -b: reads lines of ROOT, TOOL and JSON with tabs between from stdin;
 * answers each with "BYTES IS_ERROR" in a line, and the text. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "hands/tools/tool.h"

static const char *home;
static bool show_peak;
static unsigned processors;

/* In place of libc's: what a walk asks for the number of its threads. */
int
sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	if (processors == 0)
		return syscall(SYS_sched_getaffinity, pid, size, set) < 0 ? -1 : 0;
	CPU_ZERO_S(size, set);
	for (unsigned i = 0; i < processors; i++)
		CPU_SET_S(i, size, set);
	return 0;
}

static void
fail(const char *what)
{
	(void)fprintf(stderr, "toolrun: %s\n", what);
	exit(2);
}

static void
progress(void *ctx, const char *message, uint64_t done)
{
	(void)ctx;
	(void)done;
	(void)fprintf(stderr, "toolrun: progress: %s\n", message);
}

static int
compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Runs the tool; the caller ends out. Returns the microseconds that it took. */
static uint64_t
run(const char *root, const char *name, const char *json, struct tool_result *out)
{
	struct tool_root roots[2] = { { .path = root, .writable = true },
		{ .path = home, .writable = true } };
	struct tool_env env = { .roots = roots, .nroots = home != NULL ? 2 : 1, .cwd = root,
		.home = home != NULL ? home : "/nonexistent", .progress = progress };
	const struct ats_tool_row *row = ats_tool_find(name);
	const struct tool *tool = row != NULL ? tool_registry[ats_tool_id(row)] : NULL;
	ATS_CLEANUP_BUF struct ats_buf arena = { 0 };
	union ats_tool_input_any in;
	struct ats_err err;
	uint64_t start;

	if (tool == NULL)
		fail("no such tool");
	for (size_t i = 0; i < env.nroots; i++) {
		roots[i].fd = open(roots[i].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (roots[i].fd < 0)
			fail("cannot open a root");
	}
	ats_buf_init(&arena, 64u << 20);
	tool_result_init(out, row->max_chars);
	start = ats_clock_us();
	if (ats_tool_input(row, json, strlen(json), &in, &arena, &err) < 0)
		(void)tool_fail(out, err.code, "%s", err.text);
	else if (tool->run(&env, &in, out) < 0)
		fail("the tool failed");
	start = ats_clock_us() - start;
	for (size_t i = 0; i < env.nroots; i++)
		(void)close(roots[i].fd);
	return start;
}

/* The line of VmHWM: since the exec, unlike what wait4(2) says. */
static void
peak(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "VmHWM", 5) == 0)
			(void)fputs(line, stderr);
	if (f != NULL)
		(void)fclose(f);
}

static int
batch(void)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	while ((n = getline(&line, &cap, stdin)) > 0) {
		char *tool = strchr(line, '\t'), *json = NULL;
		struct tool_result out;

		line[n - 1] = '\0';
		if (tool != NULL)
			json = strchr(tool + 1, '\t');
		if (json == NULL)
			fail("ROOT TOOL JSON expected");
		*tool++ = *json++ = '\0';
		(void)run(line, tool, json, &out);
		(void)printf("%zu %d\n", out.text.len, out.is_error);
		(void)fwrite(out.text.data, 1, out.text.len, stdout);
		(void)fflush(stdout);
		tool_result_done(&out);
	}
	free(line);
	return 0;
}

static int
repeated(int repeat, bool tells, const char *root, const char *tool, const char *json)
{
	uint64_t *times = calloc((size_t)repeat, sizeof(*times));
	struct tool_result out;
	bool is_error = false;

	if (times == NULL)
		fail("out of memory");
	for (int i = 0; i < repeat; i++) {
		times[i] = run(root, tool, json, &out);
		is_error = out.is_error;
		if (i == 0) {
			(void)fwrite(out.text.data, 1, out.text.len, stdout);
			(void)putchar('\n');
		}
		tool_result_done(&out);
	}
	if (tells) {
		qsort(times, (size_t)repeat, sizeof(*times), compare);
		(void)fprintf(stderr, "median %llu us, least %llu us\n",
		    (unsigned long long)times[repeat / 2], (unsigned long long)times[0]);
	}
	free(times);
	return is_error;
}

int
main(int argc, char **argv)
{
	bool many = false;
	int repeat = 0, opt, rc;
	char *root;

	while ((opt = getopt(argc, argv, "bH:mr:t:")) != -1) {
		if (opt == 'b')
			many = true;
		else if (opt == 'H')
			home = optarg;
		else if (opt == 'm')
			show_peak = true;
		else if (opt == 't')
			processors = (unsigned)strtoul(optarg, NULL, 10);
		else if (opt != 'r' || (repeat = atoi(optarg)) < 1)
			return 2;
	}
	if (many && argc == optind)
		return batch();
	if (argc - optind != 3)
		fail("usage: toolrun [-H HOME] [-t N] [-r N] ROOT TOOL JSON, or toolrun -b");
	root = realpath(argv[optind], NULL);
	if (root == NULL)
		fail("no such directory");
	rc = repeated(repeat > 0 ? repeat : 1, repeat > 0, root, argv[optind + 1],
	    argv[optind + 2]);
	free(root);
	if (show_peak)
		peak();
	return rc;
}
