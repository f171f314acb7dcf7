/* SPDX-License-Identifier: Apache-2.0
 *
 * What render.c (the program that draws) and render_answer.c (what is said of it) share; nobody
 * else includes this. */
#ifndef ATS_HANDS_FRONT_RENDER_PRIVATE_H
#define ATS_HANDS_FRONT_RENDER_PRIVATE_H

#include "hands/front/capture.h"
#include "hands/front/render.h"
#include "hands/front/worker_io.h"

#define RENDER_TEXTS_MAX (24u << 10) /* what is said around the images */
#define RENDER_IMAGES_MAX (WORKER_PAYLOAD_MAX - RENDER_TEXTS_MAX)

struct shell;

struct render {
	struct call *c;
	struct shell *sh;
	int fd; /* the document, until the program has it */
	struct render_ask ask;
	struct ats_buf path, delta;
	struct ats_buf images; /* one behind the other */
	struct capture said;   /* on stderr */
	bool is_full;	       /* the images do not all fit */
	bool timed_out;
};

/* ---- render_answer.c */
/* Answers the call, by the images that have come. exit NULL: we end it, for the time or because
 * nothing more fits. */
void render_answer(struct render *r, const struct job_exit *exit);

#endif
