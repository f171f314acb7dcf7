/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the benchmark drivers: time, samples, whole writes. Start-up code only, so
 * failures end the program. */
#ifndef ATS_TESTS_BENCH_H
#define ATS_TESTS_BENCH_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct samples {
	double *v;
	size_t n, cap;
};

static inline void
bench_die(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static inline uint64_t
bench_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void
samples_add(struct samples *s, double v)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 256;
		s->v = realloc(s->v, s->cap * sizeof(*s->v));
		if (s->v == NULL)
			bench_die("realloc");
	}
	s->v[s->n++] = v;
}

static inline int
bench_cmp(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* q in 0..1; sorts in place. 0 when there are none. */
static inline double
samples_quantile(struct samples *s, double q)
{
	if (s->n == 0)
		return 0;
	qsort(s->v, s->n, sizeof(*s->v), bench_cmp);
	return s->v[(size_t)(q * (double)(s->n - 1) + 0.5)];
}

static inline void
bench_write_all(int fd, const void *p, size_t n)
{
	const char *c = p;

	while (n > 0) {
		ssize_t r = write(fd, c, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			bench_die("write");
		c += r;
		n -= (size_t)r;
	}
}

#endif
