/* SPDX-License-Identifier: Apache-2.0
 *
 * The command of a call, as a text of bash or as the words of a program. Linked into vault and
 * engine; models write it. */
#include <string.h>

#include "brain/policy/rules_lex.h"
#include "common/fault.h"
#include "common/json.h"

#define TEXT_MAX (2u << 20)

/* ats/exec: the words are known, and no shell reads them. */
static void
read_argv(struct command *c, struct ats_slice array)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	struct ats_buf word;
	size_t n;
	int rc;

	ats_json_iter_init(&it, array);
	while (ats_json_next(&it, &key, &v) &&
	       command_grow(c, &c->words, c->nwords, &c->words_max, sizeof(*c->words))) {
		ats_buf_init(&word, TEXT_MAX);
		rc = ats_json_to_str(&v, &word);
		c->nomem = c->nomem || rc == -ATS_E_NOMEM;
		c->overflow = c->overflow || rc == -ATS_E_TOOBIG;
		if (rc == 0) {		/* else it is no word: refused where it should run */
			n = strlen(word.data) + 1;
			if ((size_t)(c->arena_end - c->next) < n) {
				c->overflow = true;
			} else {
				memcpy(c->next, word.data, n);
				c->words[c->nwords++] = (struct command_word){ c->next, NULL };
				c->next += n;
			}
		}
		ats_buf_done(&word);
	}
	if (c->nwords == 0)
		return;
	command_add_views(c);
	/* What allows is compared with the words as they are, if blanks alone are between them. */
	for (size_t i = 0; i < c->nwords; i++)
		if (c->words[i].s[0] == '\0' ||
		    c->words[i].s[strspn(c->words[i].s, LETTERS DIGITS "%+,-./:=@")] != '\0')
			c->unclear = true;
	if (!c->overflow && !c->nomem &&
	    command_grow(c, &c->parts, c->nparts, &c->parts_max, sizeof(*c->parts)))
		c->parts[c->nparts++] = (struct ats_slice){ c->words[0].at,
			strlen(c->words[0].at) };
	c->nwords = 0;
}

void
command_read(struct ats_slice args, struct command *ret)
{
	bool argv = ats_json_type(args) == ATS_JSON_ARRAY;
	struct command *c = ret;
	struct ats_json_val v;
	size_t room;

	if (!argv && !ats_json_get(args, "command", &v) && ats_json_get(args, "argv", &v) &&
	    v.type == ATS_JSON_ARRAY) {
		args = v.raw;
		argv = true;
	}
	*c = (struct command){ .vars = { { "IFS", " ", 3 } }, .nvars = 1 };
	ats_buf_init(&c->text, TEXT_MAX);
	if (!argv) {
		int rc = ats_json_get(args, "command", &v) ? ats_json_to_str(&v, &c->text)
							  : -ATS_E_FIELD;

		c->nomem = rc == -ATS_E_NOMEM;
		c->overflow = rc == -ATS_E_TOOBIG;
		if (rc < 0)		/* no command: it is refused where it should run */
			return;
	}
	room = 8 * (argv ? args.n : c->text.len) + 4096;
	c->arena = c->next = ats_malloc(room);
	c->marks = ats_calloc(c->text.len + 1, 1);
	c->nomem = c->arena == NULL || c->marks == NULL;
	if (c->nomem)
		return;
	c->arena_end = c->arena + room;
	c->budget = room + 65536;
	if (argv)
		read_argv(c, args);
	else
		command_add_text(c, c->text.data, c->text.len, true);
	for (size_t i = 0; i < c->ntodo && !c->overflow && !c->nomem; i++) {
		struct command_text t = c->todo[i];

		command_read_text(c, &t);
	}
}

void
command_done(struct command *c)
{
	ats_buf_done(&c->text);
	free(c->views);
	free(c->parts);
	free(c->todo);
	free(c->words);
	free(c->arena);
	free(c->marks);
}
