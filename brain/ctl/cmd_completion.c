/* SPDX-License-Identifier: Apache-2.0
 *
 * atsctl completion: scripts made from commands.def. Process: atsctl. */
#include <string.h>

#include "brain/ctl/ctl.h"

static const char global_options[] = "--socket --json --no-start --help --version";

/* The words of a command after each other, each with prefix before and suffix behind. */
static void
print_words(const struct ctl_command *cmd, bool options, const char *prefix,
    const char *suffix)
{
	const char *word;
	size_t n;

	for (size_t i = 0; ctl_usage_word(cmd->usage, options, i, &word, &n); i++)
		(void)printf("%s%.*s%s", prefix, (int)n, word, suffix);
}

static void
print_names(const char *suffix)
{
	for (size_t i = 0; i < ctl_ncommands; i++)
		(void)printf("%s%s", ctl_commands[i].name, suffix);
}

/* What stands behind "call". */
static const char *const tools[] = {
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc) (name),
#define PARAM(sym, member, wire, type, req, min, max, doc)
#define END(sym)
#define ALIAS(name, target)
#define ITEM(sym, doc)
#include "proto/tools.def"
#undef TOOL
#undef PARAM
#undef END
#undef ALIAS
#undef ITEM
};

static void
print_tools(const struct ctl_command *cmd, const char *prefix, const char *suffix)
{
	for (size_t i = 0; strcmp(cmd->name, "call") == 0 && i < ATS_ARRAY_LEN(tools); i++)
		(void)printf("%s%s%s", prefix, tools[i], suffix);
}

/* For bash, and for zsh, which understands it by bashcompinit. */
static void
print_bash(void)
{
	(void)printf(
	    "_atsctl() {\n"
	    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	    "\tlocal i cmd= at=0 words ids= from=status\n"
	    "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	    "\t\tcase ${COMP_WORDS[i]} in\n"
	    "\t\t--socket) ((i++)) ;;\n"
	    "\t\t-*) ;;\n"
	    "\t\t*) cmd=${COMP_WORDS[i]}; at=$i; break ;;\n"
	    "\t\tesac\n"
	    "\tdone\n"
	    "\tCOMPREPLY=()\n"
	    "\tfor ((i = at + 1; at && i < COMP_CWORD; i++)); do\n"
	    "\t\ttest \"${COMP_WORDS[i]}\" = -- || continue\n"
	    "\t\t((i + 1 == COMP_CWORD)) && COMPREPLY=($(compgen -c -- \"$cur\"))\n"
	    "\t\treturn\n"
	    "\tdone\n"
	    "\tcase $prev in\n"
	    "\t--workspace|-w) compopt -o filenames 2>/dev/null\n"
	    "\t\tlocal IFS=$'\\n'; COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n"
	    "\t--socket) return ;;\n"
	    "\t--session|-s|--timeout|--reason|-r|--tool|-t|--since|--owner) compopt +o "
	    "default 2>/dev/null; return ;;\n"
	    "\tesac\n"
	    "\tcase $cmd in\n");
	(void)printf("\t'') words='%s ", global_options);
	print_names(" ");
	(void)printf("' ;;\n");
	for (size_t i = 0; i < ctl_ncommands; i++) {
		(void)printf("\t%s) words='--json --help", ctl_commands[i].name);
		print_words(&ctl_commands[i], true, " ", "");
		(void)printf("'\n\t\tcase $cur in -*) ;; *) words='");
		print_words(&ctl_commands[i], false, "", " ");
		print_tools(&ctl_commands[i], "", " ");
		(void)printf("'; ((at + 1 < COMP_CWORD)) && words= ;; esac ;;\n");
	}
	(void)printf("\t*) words= ;;\n\tesac\n"
		     "\tcase $cmd in session) ids=s ;; sandbox) ids=b ;; inspect) ids=sb ;;\n"
		     "\tapprove|deny) ids=a from=approvals ;; esac\n"
		     "\ttest -z \"$words$ids\" || test -n \"$words\" ||\n"
		     "\t\twords=$(\"${COMP_WORDS[0]}\" --json $from 2>/dev/null |\n"
		     "\t\t\tgrep -oE \"\\\"id\\\":\\\"[$ids]-[0-9a-f]+\" | cut -d'\"' -f4)\n"
		     "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		     "}\n"
		     "complete -o default -F _atsctl atsctl\n");
}

static void
print_fish_doc(const char *doc)
{
	size_t n = strcspn(doc, ".;");

	(void)fputs(" -d '", stdout);
	for (size_t i = 0; i < n; i++)
		(void)printf(doc[i] == '\'' ? "\\'" : "%c", doc[i]);
	(void)fputs("'\n", stdout);
}

static void
print_fish(void)
{
	(void)printf("complete -c atsctl -f\n"
		     "complete -c atsctl -n __fish_use_subcommand -l socket -r -F\n"
		     "complete -c atsctl -l json\n"
		     "complete -c atsctl -l no-start\n"
		     "complete -c atsctl -l help -s h\n"
		     "complete -c atsctl -n __fish_use_subcommand -l version -s V\n");
	for (size_t i = 0; i < ctl_ncommands; i++) {
		const struct ctl_command *cmd = &ctl_commands[i];
		const char *word;
		size_t n;

		(void)printf(
		    "complete -c atsctl -n __fish_use_subcommand -a %s", cmd->name);
		print_fish_doc(cmd->doc);
		for (size_t k = 0; ctl_usage_word(cmd->usage, true, k, &word, &n); k++)
			(void)printf(
			    "complete -c atsctl -n '__fish_seen_subcommand_from %s' "
			    "-l %.*s\n",
			    cmd->name, (int)n - 2, word + 2);
		for (size_t k = 0; ctl_usage_word(cmd->usage, false, k, &word, &n); k++)
			(void)printf(
			    "complete -c atsctl -n '__fish_seen_subcommand_from %s' "
			    "-a %.*s\n",
			    cmd->name, (int)n, word);
		print_tools(cmd, "complete -c atsctl -n '__fish_seen_subcommand_from call' -a ",
		    "\n");
	}
}

int
cmd_completion(struct ctl *c, int argc, char **argv)
{
	int code;

	if (ctl_args(c, NULL, 0, argc, argv, &code) < 0)
		return code;
	if (strcmp(argv[1], "bash") == 0) {
		print_bash();
	} else if (strcmp(argv[1], "zsh") == 0) {
		(void)printf(
		    "#compdef atsctl\nautoload -U +X bashcompinit && bashcompinit\n");
		print_bash();
		/* As a file of $fpath it is run by the first completion, and answers it, too. */
		(void)printf("[[ ${funcstack[1]-} = _atsctl ]] && "
			     "_bash_complete -o default -F _atsctl\n:\n");
	} else if (strcmp(argv[1], "fish") == 0) {
		print_fish();
	} else {
		return ctl_fail(CTL_USAGE,
		    "completion %s: unknown shell; use bash, zsh or fish", argv[1]);
	}
	return CTL_OK;
}
