/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that start other programs: what is behind them is looked at, too. Linked into vault
 * and engine. The table knows how each is usually called, not all that it can be told. */
#include <string.h>

#include "brain/policy/rules_private.h"

#define STARTS 16

enum kind {
	RUN,		/* options, words of its own, and then the program */
	SHELL,		/* a text after -c; its input are commands, too */
	TEXT,		/* what is behind its options and words is a text, and run */
	FIND		/* programs after -exec and the like */
};
struct wrapper {
	const char *name;
	enum kind kind;
	const char *with;	/* options whose argument is a word of its own */
	unsigned words;		/* of its own before the program */
	const char *shows;	/* options with which it runs nothing */
};

static const struct wrapper wrappers[] = {
	{ "sudo", RUN, "ughpCrRtTUDa", 0, "lvkKV" }, { "doas", RUN, "uCa", 0, "L" },
	{ "env", RUN, "uC", 0, "" }, { "nice", RUN, "n", 0, "" }, { "ionice", RUN, "cnPpu", 0, "" },
	{ "nohup", RUN, "", 0, "" }, { "setsid", RUN, "", 0, "" }, { "timeout", RUN, "ks", 1, "" },
	{ "time", RUN, "fo", 0, "" }, { "xargs", RUN, "IELPadns", 0, "" },
	{ "command", RUN, "", 0, "vV" }, { "builtin", RUN, "", 0, "" }, { "exec", RUN, "a", 0, "" },
	{ "stdbuf", RUN, "ioe", 0, "" }, { "chroot", RUN, "", 1, "" },
	{ "busybox", RUN, "", 0, "" },
	{ "toybox", RUN, "", 0, "" }, { "strace", RUN, "EIOPSUabeopsuX", 0, "" },
	{ "ltrace", RUN, "FDaelnopsuw", 0, "" }, { "parallel", RUN, "jaSN", 0, "" },
	{ "flock", RUN, "wE", 1, "" }, { "taskset", RUN, "", 1, "" }, { "chrt", RUN, "TPD", 1, "" },
	{ "setpriv", RUN, "", 0, "" }, { "prlimit", RUN, "", 0, "" },
	{ "unshare", RUN, "SGRw", 0, "" },
	{ "nsenter", RUN, "tSG", 0, "" }, { "setarch", RUN, "", 1, "" },
	{ "runuser", RUN, "ugGsw", 0, "" },
	{ "unbuffer", RUN, "", 0, "" }, { "script", SHELL, "", 0, "" }, { "su", SHELL, "", 0, "" },
	{ "sh", SHELL, "", 0, "" }, { "bash", SHELL, "", 0, "" }, { "dash", SHELL, "", 0, "" },
	{ "zsh", SHELL, "", 0, "" }, { "ksh", SHELL, "", 0, "" }, { "ash", SHELL, "", 0, "" },
	{ "mksh", SHELL, "", 0, "" }, { "fish", SHELL, "", 0, "" },
	{ "eval", TEXT, "", 0, "" }, { "trap", TEXT, "", 0, "lp" }, { "watch", TEXT, "nq", 0, "" },
	{ "ssh", TEXT, "BbcDEeFIiJLlmOopQRSWw", 1, "" },
	{ "find", FIND, "", 0, "" }, { "fd", FIND, "", 0, "" }, { "fdfind", FIND, "", 0, "" },
};
/* Words of the language before a command. */
static const char *const keywords[] = { "if", "then", "elif", "else", "while", "until", "do", "!",
	"{", "coproc", "function" };
static const char *const execs[] = { "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec",
	"--exec-batch" };

/* Where programs may begin among the words. */
struct starts {
	size_t v[STARTS], n;
};

static bool
is_one_of(const char *s, const char *const *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(s, all[i]) == 0)
			return true;
	return false;
}

static void
add_start(struct command *c, struct starts *s, size_t i)
{
	if (i >= c->nwords)
		return;
	if (s->n == STARTS)
		c->overflow = true;
	else
		s->v[s->n++] = i;
}

static void
add_view(struct command *c, const char *at)
{
	if (command_grow(c, &c->views, c->nviews, &c->views_max, sizeof(*c->views)))
		c->views[c->nviews++] = at;
}

/* All words one behind the other; each knows where it is there. */
static bool
join(struct command *c)
{
	for (size_t i = 0; i < c->nwords; i++) {
		size_t n = strlen(c->words[i].s);

		if ((size_t)(c->arena_end - c->next) < n + 2) {
			c->overflow = true;
			return false;
		}
		c->words[i].at = c->next;
		memcpy(c->next, c->words[i].s, n);
		c->next[n] = i + 1 < c->nwords ? ' ' : '\0';
		c->next += n + 1;
	}
	return true;
}

/* The first word from i on that is not an option of w; c->nwords: none, or it runs nothing. */
static size_t
skip_options(struct command *c, const struct wrapper *w, size_t i, struct starts *s)
{
	bool maybe = false;

	for (; i < c->nwords; i++) {
		const char *o = c->words[i].s;

		if (o[0] != '-' || o[1] == '\0')
			break;
		if (strcmp(o, "--") == 0) {
			i++;
			break;
		}
		maybe = o[1] == '-' && strchr(o, '=') == NULL;
		if (o[1] == '-')
			continue;
		if (strpbrk(o + 1, w->shows) != NULL)
			return c->nwords;
		if (o[2] == '\0' && strchr(w->with, o[1]) != NULL)
			i++;
	}
	if (maybe)		/* this word may be the argument of --option before it */
		add_start(c, s, i + 1);
	return i;
}

/* The text of sh -c TEXT. */
static void
shell_text(struct command *c, size_t i)
{
	bool text = false;

	c->shell = true;
	for (; i < c->nwords; i++) {
		const char *o = c->words[i].s;

		if (o[0] == '-' || o[0] == '+') {
			text = text || (o[0] == '-' && o[1] != '-' && strchr(o, 'c') != NULL) ||
			    strcmp(o, "--command") == 0;
			if (strncmp(o, "--command=", 10) == 0)
				command_add_text(c, o + 10, strlen(o + 10), false);
		} else if (text) {
			command_add_text(c, o, strlen(o), false);
			return;
		}
	}
}

/* env -S "rm x" */
static void
split_string(struct command *c, size_t i)
{
	for (; i < c->nwords && c->words[i].s[0] == '-'; i++) {
		const char *o = c->words[i].s;

		if (strncmp(o, "--split-string=", 15) == 0)
			command_add_text(c, o + 15, strlen(o + 15), false);
		else if (strncmp(o, "-S", 2) == 0 && o[2] != '\0')
			command_add_text(c, o + 2, strlen(o + 2), false);
		else if ((strcmp(o, "-S") == 0 || strcmp(o, "--split-string") == 0) &&
			 i + 1 < c->nwords)
			command_add_text(c, c->words[i + 1].at, strlen(c->words[i + 1].at), false);
	}
}

/* The program at i, and those that it starts. */
static void
look_at(struct command *c, size_t i, struct starts *s)
{
	const char *word, *base;
	const struct wrapper *w = NULL;
	size_t n;

	while (i < c->nwords && (is_one_of(c->words[i].s, keywords, ATS_ARRAY_LEN(keywords)) ||
				    command_is_assignment(c->words[i].s, &n))) {
		c->unclear = true;
		i += strcmp(c->words[i].s, "function") == 0 ? 2 : 1;
	}
	if (i >= c->nwords)
		return;
	word = c->words[i].s;
	base = strrchr(word, '/');
	base = base == NULL ? word : base + 1;
	add_view(c, c->words[i].at);
	if (base != word)
		add_view(c, c->words[i].at + (base - word));
	for (size_t k = 0; k < ATS_ARRAY_LEN(wrappers); k++)
		if (strcmp(wrappers[k].name, base) == 0)
			w = &wrappers[k];
	if (w == NULL)
		return;
	if (w->kind == SHELL) {
		shell_text(c, i + 1);
		return;
	}
	if (w->kind == FIND) {
		for (i++; i < c->nwords; i++)
			if (is_one_of(c->words[i].s, execs, ATS_ARRAY_LEN(execs)))
				add_start(c, s, i + 1);
		return;
	}
	if (strcmp(w->name, "env") == 0)
		split_string(c, i + 1);
	i = skip_options(c, w, i + 1, s) + w->words;
	if (w->kind == RUN)
		add_start(c, s, i);
	else if (i < c->nwords)
		command_add_text(c, c->words[i].at, strlen(c->words[i].at), false);
}

void
command_add_views(struct command *c)
{
	struct starts s = { .v = { 0 }, .n = 1 };

	if (!join(c))
		return;
	for (size_t i = 0; i < s.n && !c->overflow && !c->nomem; i++)
		look_at(c, s.v[i], &s);
}
