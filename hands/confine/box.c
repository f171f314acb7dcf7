/* SPDX-License-Identifier: Apache-2.0
 *
 * The box as a word of argv. Runs in launcher, init and zygotes; the input is init's. */
#include "hands/confine/box.h"

#include <stdio.h>
#include <string.h>

#include "hands/init/roles.h"

bool
box_has_namespaces(const struct box *b)
{
	return b->situation == BOX_ROOT || b->situation == BOX_USER;
}

bool
box_has_uids(const struct box *b)
{
	return b->situation == BOX_ROOT || b->situation == BOX_UID ||
	       (b->situation == BOX_NONE && b->front_uid != b->worker_uid);
}

bool
box_has_own_sockets(const struct box *b)
{
	return (b->situation == BOX_UID || b->situation == BOX_LANDLOCK) &&
	       (b->facts & (BOX_NET_HOST | BOX_LISTENER)) == BOX_LISTENER;
}

bool
box_has_relay(const struct box *b)
{
	return box_has_namespaces(b) || box_has_own_sockets(b);
}

const char *
box_level(const struct box *b)
{
	static const char *const levels[] = { [BOX_ROOT] = "namespaces",
		[BOX_USER] = "namespaces", [BOX_UID] = "uid+landlock",
		[BOX_LANDLOCK] = "landlock", [BOX_NONE] = "none" };

	return levels[b->situation];
}

int
box_to_word(const struct box *b, char *out, size_t size)
{
	char budget[BUDGET_WORD];
	int n;

	budget_to_word(&b->budget, budget);
	n = snprintf(out, size, "%d:%x:%u:%u:%u:%u:%d:%s:%s", (int)b->situation,
	    b->facts, b->front_uid, b->front_gid, b->worker_uid, b->worker_gid,
	    b->landlock_abi, budget, b->state);

	return n > 0 && (size_t)n < size ? 0 : -ATS_E_TOOBIG;
}

void
box_set_places(struct box *b)
{
	bool view = box_has_namespaces(b);

	(void)snprintf(b->home, sizeof b->home, "%.4000s%s", view ? "" : b->state,
	    view ? BOX_HOME : "/home");
	(void)snprintf(b->spill, sizeof b->spill, "%.4000s%s", view ? "" : b->state,
	    view ? BOX_SPILL : "/spill");
	(void)snprintf(b->tmp, sizeof b->tmp, "%.4000s%s", view ? "" : b->state,
	    view ? BOX_TMP : "/tmp");
	(void)snprintf(b->tools, sizeof b->tools, "%.4000s%s", view ? "" : b->state,
	    view ? BOX_TOOLS : "/" STATE_TOOLS);
	if (box_has_own_sockets(b))
		(void)snprintf(b->sockets, sizeof b->sockets, "%.4000s/sockets", b->state);
}

int
box_from_word(struct box *ret, const char *word)
{
	int situation = 0;
	int used = 0;

	memset(ret, 0, sizeof *ret);
	if (sscanf(word, "%d:%x:%u:%u:%u:%u:%d:%n", &situation, &ret->facts,
		&ret->front_uid, &ret->front_gid, &ret->worker_uid, &ret->worker_gid,
		&ret->landlock_abi, &used) != 7 ||
	    used == 0 || situation < BOX_ROOT || situation > BOX_NONE)
		return -ATS_E_INVAL;
	word += used;
	if ((used = budget_from_word(&ret->budget, word)) < 0 || word[used++] != ':')
		return -ATS_E_INVAL;
	if (strlen(word + used) > 4000)
		return -ATS_E_TOOBIG;
	ret->situation = (enum box_situation)situation;
	(void)snprintf(ret->state, sizeof ret->state, "%s", word + used);
	box_set_places(ret);
	return 0;
}
