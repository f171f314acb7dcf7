/* SPDX-License-Identifier: Apache-2.0
 *
 * Seeded fault injection, every process of a build with ATS_FAULT; nothing otherwise.
 * The environment of the test run controls it. */
#include "common/fault.h"

#ifdef ATS_FAULT

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static struct {
	bool ready, off, paused, silent;
	char only[32], frame[32];		/* in:, drop_after: */
	uint64_t fail_alloc, allocs;
	uint64_t trace, quiet, kill_worker, workers, drop_after, frames;
	double alloc_each, short_read, short_write, eintr;
	uint64_t state;
} fault;

static void
fault_setting(const char *key, const char *value)
{
	static const struct {
		const char *key;
		uint64_t *n;
		double *p;
	} keys[] = {
		{ "alloc", &fault.fail_alloc, NULL },
		{ "seed", &fault.state, NULL },
		{ "kill_worker", &fault.kill_worker, NULL },
		{ "trace", &fault.trace, NULL },
		{ "quiet", &fault.quiet, NULL },
		{ "alloc_each", NULL, &fault.alloc_each },
		{ "short_read", NULL, &fault.short_read },
		{ "short_write", NULL, &fault.short_write },
		{ "eintr", NULL, &fault.eintr },
	};
	size_t i = 0;

	while (i < sizeof(keys) / sizeof(keys[0]) && strcmp(key, keys[i].key) != 0)
		i++;
	if (i == sizeof(keys) / sizeof(keys[0])) {
		const char *n = strchr(value, ':');

		if (strcmp(key, "in") == 0)
			(void)snprintf(fault.only, sizeof(fault.only), "%s", value);
		else if (strcmp(key, "drop_after") == 0 && n != NULL) {
			(void)snprintf(fault.frame, sizeof(fault.frame), "%.*s",
			    (int)(n - value), value);
			fault.drop_after = strtoull(n + 1, NULL, 10);
		} else
			(void)dprintf(2, "ats-fault: unknown setting %s\n", key);
		return;
	}
	if (keys[i].n != NULL)
		*keys[i].n = strtoull(value, NULL, 10);
	else
		*keys[i].p = strtod(value, NULL);
}

static void
fault_init(void)
{
	const char *env = getenv("ATS_FAULT");
	char copy[256], *save = NULL;

	if (fault.ready)
		return;
	fault.ready = true;
	fault.off = true;
	if (env == NULL || *env == '\0' || strlen(env) >= sizeof(copy))
		return;
	memcpy(copy, env, strlen(env) + 1);
	fault.state = (uint64_t)time(NULL) ^ ((uint64_t)getpid() << 32);
	for (char *w = strtok_r(copy, ",|", &save); w != NULL;
	    w = strtok_r(NULL, ",|", &save)) {
		char *colon = strchr(w, ':');

		if (colon == NULL)
			continue;
		*colon = '\0';
		fault_setting(w, colon + 1);
	}
	fault.off = fault.only[0] != '\0';
	if (!fault.off && fault.quiet == 0)
		(void)dprintf(2, "ats-fault: pid %d %s seed:%llu\n", (int)getpid(), env,
		    (unsigned long long)fault.state);
}

void
ats_fault_process(const char *name)
{
	fault_init();
	if (fault.only[0] == '\0')
		return;
	fault.off = strcmp(fault.only, name) != 0;
	fault.allocs = 0;
}

const char *const *
ats_fault_env(void)
{
	static const char *const names[] = { "ATS_FAULT", "ASAN_OPTIONS", "UBSAN_OPTIONS",
		"LSAN_OPTIONS" };
	static const char *env[sizeof(names) / sizeof(names[0]) + 1];
	static char text[sizeof(names) / sizeof(names[0])][256];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *v = getenv(names[i]);

		if (v == NULL || strlen(v) > 230)
			continue;
		(void)snprintf(text[n], sizeof(text[n]), "%s=%s", names[i], v);
		env[n] = text[n];
		n++;
	}
	env[n] = NULL;
	return env;
}

void
ats_fault_pause(bool pause)
{
	fault.paused = pause;
}

void
ats_fault_alloc(unsigned n)
{
	fault_init();
	fault.off = n == 0;
	fault.silent = true;
	fault.allocs = 0;
	fault.fail_alloc = n;
}

/* splitmix64: small, seedable, good enough to choose where to fail. */
static uint64_t
fault_next(void)
{
	uint64_t z = (fault.state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static bool
fault_hits(double p)
{
	fault_init();
	return !fault.off && p > 0 && (double)(fault_next() >> 11) * 0x1p-53 < p;
}

/* ---- the allocator, by the linker's --wrap ------------------------------------------- */
void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t at, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t at, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

/* Where the N-th one is: only with a sanitizer's runtime. */
void __sanitizer_print_stack_trace(void) __attribute__((weak));

/* Threads of a search may miscount; a fault more or less is no harm there. */
static bool
fault_alloc_fails(void)
{
	bool nth;

	fault_init();
	if (fault.off || fault.paused)
		return false;
	nth = ++fault.allocs == fault.fail_alloc;
	if (nth && !fault.silent)
		(void)!write(2, "ats-fault: alloc fired\n", 23);
	if (nth && fault.trace != 0 && __sanitizer_print_stack_trace != NULL) {
		fault.off = true;
		__sanitizer_print_stack_trace();
		fault.off = false;
	}
	if (!nth && !fault_hits(fault.alloc_each))
		return false;
	errno = ENOMEM;
	return true;
}

void *
__wrap_malloc(size_t n)
{
	return fault_alloc_fails() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t count, size_t size)
{
	return fault_alloc_fails() ? NULL : __real_calloc(count, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
	return fault_alloc_fails() ? NULL : __real_realloc(p, n);
}

void *
__wrap_aligned_alloc(size_t at, size_t n)
{
	return fault_alloc_fails() ? NULL : __real_aligned_alloc(at, n);
}

char *
__wrap_strdup(const char *s)
{
	return fault_alloc_fails() ? NULL : __real_strdup(s);
}

char *
__wrap_strndup(const char *s, size_t n)
{
	return fault_alloc_fails() ? NULL : __real_strndup(s, n);
}

/* ---- system calls ---------------------------------------------------------------------- */
static size_t
fault_clip(double p, size_t n)
{
	if (n < 2 || !fault_hits(p))
		return n;
	return 1 + (size_t)(fault_next() % (n - 1));
}

size_t
ats_fault_read(size_t n)
{
	fault_init();
	return fault_clip(fault.short_read, n);
}

size_t
ats_fault_write(size_t n)
{
	fault_init();
	return fault_clip(fault.short_write, n);
}

bool
ats_fault_eintr(void)
{
	fault_init();
	if (!fault_hits(fault.eintr))
		return false;
	errno = EINTR;
	return true;
}

/* ---- peers ------------------------------------------------------------------------------- */
bool
ats_fault_kill_worker(void)
{
	fault_init();
	return !fault.off && fault.kill_worker != 0 && ++fault.workers == fault.kill_worker;
}

bool
ats_fault_drop_after(const char *frame)
{
	fault_init();
	if (fault.off || fault.drop_after == 0 ||
	    (strcmp(fault.frame, "0") != 0 && strcmp(fault.frame, frame) != 0))
		return false;
	return ++fault.frames == fault.drop_after;
}

#endif
