/* SPDX-License-Identifier: Apache-2.0
 *
 * A multi handle of libcurl driven by libevent. */
#ifndef ATS_GATEWAY_FETCH_LOOP_H
#define ATS_GATEWAY_FETCH_LOOP_H

#include <curl/curl.h>

struct event_base;
struct fetch_loop;

typedef void (*fetch_done_fn)(void *arg, CURL *easy, CURLcode result);

/* Borrows multi. done is called from the loop for each transfer that has ended; it may end and
 * begin others. Returns owned, or NULL. */
struct fetch_loop *fetch_loop_new(struct event_base *base, CURLM *multi, fetch_done_fn done,
    void *arg);
void fetch_loop_free(struct fetch_loop *l);	/* after multi; NULL is fine */

#endif
