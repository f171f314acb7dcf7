/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by report.c (collecting) and report_write.c. */
#ifndef ATS_HANDS_MATCH_REPORT_PRIVATE_H
#define ATS_HANDS_MATCH_REPORT_PRIVATE_H

#include <pthread.h>

#include "hands/match/report.h"

struct report_item {
	char *path;			/* owned, as is text */
	size_t path_len;
	uint64_t mtime_ns;
	struct search_hit hit;
	char *text;
	size_t text_len;
};
struct report_names {			/* the first few paths of something, and how many */
	char *paths[REPORT_NAMED];
	int errors[REPORT_NAMED];
	size_t n;
	uint64_t count;
};
struct report {
	struct report_options o;
	pthread_mutex_t lock;
	struct report_item **items;
	size_t n, cap;
	uint64_t want;			/* entries that may be of interest, and one more */
	bool full;			/* content: nothing behind the last item matters */
	uint64_t lines, bytes;		/* content: of all items; else bytes of paths as shown */
	uint64_t trim_at;		/* files: bytes at which the rest is dropped */
	const struct report_item *last;	/* files: nothing behind it can be shown; NULL: all can */
	uint64_t files, matches;	/* of all that was added */
	struct report_names unreadable, steps, cut, binary;
};
/* Sorts for showing: by path, or newest first. */
void report_sort(struct report *r);

#endif
