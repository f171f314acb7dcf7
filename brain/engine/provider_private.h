/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the files of provider: what scripts made for a sandbox, its end, its rows. */
#ifndef ATS_ENGINE_PROVIDER_PRIVATE_H
#define ATS_ENGINE_PROVIDER_PRIVATE_H

#include <event2/event.h>
#include <sys/queue.h>

#include "brain/engine/sandbox.h"
#include "brain/engine/script.h"
#include "brain/engine/store_made.h"

#define PROVIDER_WARM_MAX 8

struct provided {			/* of one sandbox */
	struct sandbox *box;
	struct made now;		/* what is used, or tried */
	bool has_now, again;		/* again: it was used before */
	bool waits;			/* for the warm one that is being built */
	struct made warm[PROVIDER_WARM_MAX];
	size_t nwarm;
	struct script *need, *warming;	/* under way */
	uint64_t generation, warm_from_us;
};
struct removal;
struct provider {
	struct engine *e;
	TAILQ_HEAD(, removal) removals;
	TAILQ_HEAD(, store_made) left;	/* by an engine before this one, and not taken over yet */
	size_t running;
	struct event *late;
};

/* Its destroy script is run, and its row forgotten. */
void provider_remove(struct engine *e, const char *box, const struct made *m);
/* A script whose result nobody waits for; but if it has made a sandbox, that is removed. */
void provider_abandon(struct sandbox *box, struct script **s);
void provider_removals_free(struct provider *p);
/* What an engine after this one takes over. used: else it is a warm one. */
void provider_keep(struct provided *d, const struct made *m, bool used);
void provider_load(struct provider *p);
/* What the engine before had for this sandbox. */
void provider_take_over(struct provider *p, struct provided *d);
/* What nobody came back for is removed. */
void provider_remove_left(struct provider *p);
void provider_left_free(struct provider *p);

#endif
