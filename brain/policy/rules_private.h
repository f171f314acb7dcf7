/* SPDX-License-Identifier: Apache-2.0
 *
 * What rules*.c share: the rules, a command taken apart, and patterns of commands and paths. */
#ifndef ATS_POLICY_RULES_PRIVATE_H
#define ATS_POLICY_RULES_PRIVATE_H

#include "brain/policy/rules.h"

#define COMMAND_VARS 16

/* As in proto/tools.def. */
enum policy_profile { PROFILE_READ, PROFILE_WRITE, PROFILE_SHELL, PROFILE_FRONT };

struct rule {
	enum policy_effect effect;
	char *text;			/* owned, as it was written */
	const char *name;		/* in text: gateway tools of that name */
	size_t name_n;
	bool open;			/* the name goes on */
	unsigned tools;			/* of the sandbox, a bit each */
	struct command_pattern *command;
	struct path_pattern *path;
};
struct policy_rules {
	struct rule *v;
	size_t n, max;
};

/* The bits of tools of the sandbox. */
unsigned policy_tools_of_profile(enum policy_profile profile);
unsigned policy_tools_named(const char *name, size_t n, bool open);

/* A command as far as it can be read without running it. */
struct command {
	struct ats_buf text;		/* as it was given; empty when it is words */
	unsigned char *marks;		/* COMMAND_FROM and COMMAND_TO of each byte, and its end */
	/* Each way to see a program that it starts, "sudo rm x" and "rm x"; for what denies. */
	const char **views;
	size_t nviews, views_max;
	/* Its parts as they were written; for what allows. */
	struct ats_slice *parts;
	size_t nparts, parts_max;
	bool unclear;			/* more than plain commands one after the other */
	bool overflow;			/* too long or too nested to be looked at */
	bool nomem;
	/* private to rules_command.c, rules_bash.c and rules_wrap.c */
	struct command_text {
		struct ats_slice s;
		bool top;
	} *todo;			/* texts that are commands, too */
	size_t ntodo, todo_max;
	struct command_word {
		const char *s;		/* without quotes; NUL */
		const char *at;		/* the same among all words of its part */
	} *words;			/* of the part that is read */
	size_t nwords, words_max;
	bool shell;			/* that part feeds its input to a shell */
	char *arena, *next, *arena_end;	/* where words are */
	size_t budget;			/* bytes that may still be looked at */
	struct command_var {
		const char *name, *value;
		size_t name_n;
	} vars[COMMAND_VARS];
	size_t nvars;
};

/* A run of parts of the text may begin here, or end before here. */
enum { COMMAND_FROM = 1, COMMAND_TO = 2 };

/* args: the object of a Bash call, or the array of an ats/exec. command_done in any case. */
void command_read(struct ats_slice args, struct command *ret);
void command_done(struct command *c);
/* ---- private to rules_command.c, rules_bash.c and rules_wrap.c ----------------------------- */
/* Takes one text apart; what is nested in it goes to c->todo. */
void command_read_text(struct command *c, const struct command_text *t);
/* The views of the part whose words these are. */
void command_add_views(struct command *c);
/* Another text that is a command, too; lives as long as c. */
void command_add_text(struct command *c, const char *p, size_t n, bool top);
/* n bytes that live as long as c, or NULL and c->overflow; also while a word is being read. */
char *command_room(struct command *c, size_t n);
/* Whether word is NAME=VALUE, NAME+=VALUE or NAME[X]=VALUE; *ret_n is the length of NAME. */
bool command_is_assignment(const char *word, size_t *ret_n);
/* Room for one more in *array (a pointer), or false and c->nomem or c->overflow. */
bool command_grow(struct command *c, void *array, size_t n, size_t *max, size_t size);

/* ---- patterns -------------------------------------------------------------------------- */
/* The pattern of Bash(...). Returns owned or NULL. */
struct command_pattern *command_pattern_new(const char *spec);
void command_pattern_free(struct command_pattern *p);
/* marks: of n + 1 bytes, where a match may begin and end; NULL: it is all of s. */
bool command_pattern_match(const struct command_pattern *p, const char *s, size_t n,
    const unsigned char *marks);

/* The pattern of Read(...) and Edit(...). */
struct path_pattern;
ATS_NODISCARD int path_pattern_new(const char *spec, struct path_pattern **ret,
    struct ats_err *err);
void path_pattern_free(struct path_pattern *p);
/* path: absolute and normalised. anywhere: a pattern without a slash counts outside the
 * workspace, too. */
bool path_pattern_match(const struct path_pattern *p, const struct policy_call *call,
    const char *path, bool anywhere);

#endif
