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
	{ "sudo", RUN, "ughpCrRtTUDa", 0, "lvKV" }, { "doas", RUN, "uCa", 0, "L" },
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
/* Long options whose argument is a word of its own: all that each has. */
static const struct {
	const char *name, *longs;
} long_options[] = {
	{ "sudo", " --user --group --host --prompt --close-from --role --chroot --type --chdir"
	    " --command-timeout --other-user --login-class --auth-type " },
	{ "env", " --unset --chdir --split-string " }, { "nice", " --adjustment " },
	{ "ionice", " --class --classdata --pid --pgid --uid " },
	{ "timeout", " --kill-after --signal " }, { "time", " --format --output " },
	{ "xargs", " --arg-file --delimiter --max-args --max-procs --max-chars"
	    " --process-slot-var " },
	{ "stdbuf", " --input --output --error " },
	{ "flock", " --timeout --wait --conflict-exit-code " },
	{ "watch", " --interval --equexit " },
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

/* NULL: they are not known. */
static const char *
longs_of(const struct wrapper *w)
{
	for (size_t i = 0; i < ATS_ARRAY_LEN(long_options); i++)
		if (strcmp(long_options[i].name, w->name) == 0)
			return long_options[i].longs;
	return NULL;
}

/* Whether the word behind option o is its argument: "-u x", "-nu x", "--user x", "--us x". */
static bool
takes_next(const struct wrapper *w, const char *o)
{
	const char *at;
	size_t n = strlen(o);

	if (o[1] != '-') {
		at = strpbrk(o + 1, w->with);
		return at != NULL && at[1] == '\0';
	}
	for (at = longs_of(w); at != NULL && n > 2 && (at = strstr(at, o)) != NULL; at += n)
		if (at[-1] == ' ')
			return true;
	return false;
}

/* Only what is before an argument in the same word is options. */
static bool
shows_only(const struct wrapper *w, const char *o)
{
	size_t n = strcspn(o + 1, w->with);

	return o[1] != '-' && strcspn(o + 1, w->shows) < n;
}

/* The first word from i on that is not an option of w; c->nwords: none, or it runs nothing. */
static size_t
skip_options(struct command *c, const struct wrapper *w, size_t i, struct starts *s)
{
	bool maybe = false;

	for (; i < c->nwords && c->words[i].s[0] == '-'; i++) {
		const char *o = c->words[i].s;

		if (strcmp(o, "--") == 0)
			return i + 1;
		if (shows_only(w, o))
			return c->nwords;
		/* An option that is not known: the word behind it may be its argument. */
		maybe = o[1] == '-' && strchr(o, '=') == NULL && longs_of(w) == NULL;
		if (!takes_next(w, o))
			continue;
		i++;
		if (o[1] != '-' && o[2] != '\0')	/* or the end of what is before it */
			add_start(c, s, i + w->words);
	}
	if (maybe)
		add_start(c, s, i + 1 + w->words);
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

/* Words that env takes apart: options of its own may be the first ones. */
static void
add_env_text(struct command *c, const char *words)
{
	size_t n = strlen(words);
	char *text = command_room(c, n + 4);

	if (text == NULL)
		return;
	memcpy(text, "env ", 4);
	memcpy(text + 4, words, n);
	command_add_text(c, text, n + 4, false);
}

/* env -S "rm x", -iS "rm x", -S"rm x" */
static void
split_string(struct command *c, size_t i)
{
	for (; i < c->nwords && c->words[i].s[0] == '-'; i++) {
		const char *o = c->words[i].s, *at = c->words[i].at;
		size_t n = o[1] == '-' ? strcspn(o, "=") : 1 + strcspn(o + 1, "SuC");

		if (o[1] == '-' && n > 3 && strncmp(o, "--split-string", n) == 0) {
			if (o[n] == '=')
				add_env_text(c, at + n + 1);
			else if (i + 1 < c->nwords)
				add_env_text(c, c->words[i + 1].at);
			return;
		}
		if (o[1] != '-' && o[n] == 'S') {
			if (o[n + 1] != '\0')
				add_env_text(c, at + n + 1);
			else if (i + 1 < c->nwords)
				add_env_text(c, c->words[i + 1].at);
			return;
		}
		if ((o[1] != '-' && o[n] != '\0' && o[n + 1] == '\0') ||
		    strcmp(o, "--unset") == 0 || strcmp(o, "--chdir") == 0)
			i++;
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
	if (w->kind == TEXT && w->words > 0)	/* ssh HOST -t rm */
		i = skip_options(c, w, i, s);
	if (w->words > 0 && i + 1 < c->nwords && strcmp(c->words[i].s, "-c") == 0)
		command_add_text(c, c->words[i + 1].at, strlen(c->words[i + 1].at), false);
	else if (w->kind == RUN)	/* but flock FILE -c "rm x" */
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
