/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of atsctl and of its commands. Process: atsctl; the user controls argv. */
#include <ctype.h>
#include <string.h>

#include "brain/ctl/ctl.h"

#define MS_MAX 86400000u

int
ctl_parse_ms(const char *s, uint64_t *ret_ms)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 },
		{ "", 1000 } };
	uint64_t whole = 0, part = 0, scale = 1, ms = 0;
	size_t digits = 0;

	for (; isdigit((unsigned char)*s); s++, digits++) {
		if (whole > MS_MAX)
			return -ATS_E_INVAL;
		whole = whole * 10 + (uint64_t)(*s - '0');
	}
	if (digits > 0 && *s == '.') {
		for (s++; isdigit((unsigned char)*s); s++) {
			if (scale >= 1000000)
				return -ATS_E_INVAL;
			part = part * 10 + (uint64_t)(*s - '0');
			scale *= 10;
		}
		if (scale == 1)
			return -ATS_E_INVAL;
	}
	for (size_t i = 0; digits > 0 && i < ATS_ARRAY_LEN(units); i++) {
		if (strcmp(s, units[i].unit) == 0)
			ms = whole * units[i].ms + part * units[i].ms / scale;
	}
	if (ms == 0 || ms > MS_MAX)
		return -ATS_E_INVAL;
	*ret_ms = ms;
	return 0;
}

static const struct ctl_opt *
find(const struct ctl_opt *opts, size_t n, const char *arg, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (len == 2 && arg[1] != '-' && arg[1] == opts[i].letter)
			return &opts[i];
		if (len > 2 && strlen(opts[i].name) == len - 2 &&
		    strncmp(opts[i].name, arg + 2, len - 2) == 0)
			return &opts[i];
	}
	return NULL;
}

static int
set(const struct ctl_opt *o, const char *value, struct ats_err *err)
{
	switch (o->type) {
	case CTL_OPT_FLAG:
		if (value != NULL)
			return ats_err_set(
			    err, ATS_E_INVAL, "--%s takes no value", o->name);
		*(bool *)o->to = true;
		return 0;
	case CTL_OPT_STR:
		*(const char **)o->to = value;
		return 0;
	case CTL_OPT_MS:
	default:
		if (ctl_parse_ms(value, o->to) < 0)
			return ats_err_set(err, ATS_E_INVAL,
			    "--%s %s: not a time from 1ms to 24h; use 500ms, 10s, 2m, 1h",
			    o->name, value);
		return 0;
	}
}

/* Takes the option at argv[i]; returns how many words it was. */
static int
take(const struct ctl_opt *opts, size_t n, int argc, char **argv, int i,
    struct ats_err *err)
{
	const char *arg = argv[i], *value = strchr(arg, '=');
	size_t len = value != NULL ? (size_t)(value - arg) : strlen(arg);
	const struct ctl_opt *o = find(opts, n, arg, len);
	int words = 1, rc;

	if (o == NULL)
		return ats_err_set(
		    err, ATS_E_INVAL, "unknown option %.*s", (int)len, arg);
	if (value != NULL) {
		value++;
	} else if (o->type != CTL_OPT_FLAG) {
		if (i + 1 >= argc)
			return ats_err_set(err, ATS_E_INVAL, "%s needs a value", arg);
		value = argv[i + 1];
		words = 2;
	}
	rc = set(o, value, err);
	return rc < 0 ? rc : words;
}

static bool
is_option(const char *arg)
{
	return arg[0] == '-' && arg[1] != '\0';
}

/* Prints text in lines of at most 80 columns; the first begins at column at. */
static void
print_folded(const char *text, size_t at, size_t indent)
{
	while (*text != '\0') {
		size_t n = strcspn(text, " ");

		/* an option and its value stay together */
		if (text[0] == '[')
			n = strcspn(text, "]") + 1;
		if (at > indent && at + 1 + n > 80) {
			(void)printf("\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			(void)putchar(' ');
			at++;
		}
		(void)printf("%.*s", (int)n, text);
		at += n;
		text += n;
		text += strspn(text, " ");
	}
	(void)putchar('\n');
}

static void
command_help(const struct ctl_command *cmd)
{
	int n = printf("usage: atsctl %s", cmd->name);

	print_folded(cmd->usage, n > 0 ? (size_t)n : 0, 14);
	(void)putchar('\n');
	print_folded(cmd->doc, 0, 0);
	(void)printf("\nGlobal options: --json, --no-start; before the command also "
		     "--socket PATH.\n");
}

int
ctl_global_options(struct ctl *c, int argc, char **argv, struct ats_err *err)
{
	bool help = false, version = false;
	const struct ctl_opt opts[] = {
		{ "socket", 0, CTL_OPT_STR, &c->socket },
		{ "json", 0, CTL_OPT_FLAG, &c->json },
		{ "no-start", 0, CTL_OPT_FLAG, &c->no_start },
		{ "help", 'h', CTL_OPT_FLAG, &help },
		{ "version", 'V', CTL_OPT_FLAG, &version },
	};
	int i = 1, words;

	while (i < argc && is_option(argv[i])) {
		words = take(opts, ATS_ARRAY_LEN(opts), argc, argv, i, err);
		if (words < 0)
			return words;
		i += words;
		if (help) {
			ctl_help(stdout);
			return 0;
		}
		if (version) {
			(void)printf("atsctl %s\n", ATS_VERSION);
			return 0;
		}
	}
	if (i < argc && strcmp(argv[i], "help") == 0) {
		if (i + 1 >= argc) {
			ctl_help(stdout);
			return 0;
		}
		c->command = ctl_find_command(argv[i + 1]);
		if (c->command == NULL)
			return ats_err_set(err, ATS_E_INVAL, "%s: unknown command", argv[i + 1]);
		command_help(c->command);
		return 0;
	}
	if (i >= argc)
		return ats_err_set(err, ATS_E_INVAL, "no command");
	return i;
}

bool
ctl_asks_json(int argc, char **argv, int from)
{
	for (int i = from; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

static int
usage_error(const struct ctl *c, const char *why, int *ret_exit)
{
	*ret_exit = ctl_fail_code(c->command->usage_exit, "usage",
	    "%s: %s; usage: atsctl %s%s%s",
	    c->command->name, why, c->command->name,
	    c->command->usage[0] != '\0' ? " " : "", c->command->usage);
	return -1;
}

int
ctl_args(struct ctl *c, const struct ctl_opt *opts, size_t nopts, int argc, char **argv,
    int *ret_exit)
{
	bool any = c->command->most == CTL_ANY;
	bool help = false, end = false;
	const struct ctl_opt always[] = {
		{ "json", 0, CTL_OPT_FLAG, &c->json },
		{ "no-start", 0, CTL_OPT_FLAG, &c->no_start },
		{ "help", 'h', CTL_OPT_FLAG, &help },
	};
	struct ats_err err;
	int n = 0, words;

	for (int i = 1; i < argc; i += words) {
		const char *arg = argv[i];
		const char *eq = strchr(arg, '=');
		size_t len = eq != NULL ? (size_t)(eq - arg) : strlen(arg);

		words = 1;
		if (!end && strcmp(arg, "--") == 0) {
			end = true;
		} else if (end || !is_option(arg)) {
			argv[++n] = argv[i];
			end = end || any;
		} else if (find(always, ATS_ARRAY_LEN(always), arg, len) != NULL) {
			words = take(always, ATS_ARRAY_LEN(always), argc, argv, i, &err);
		} else {
			words = take(opts, nopts, argc, argv, i, &err);
		}
		if (words < 0) {
			if (ctl_asks_json(argc, argv, 1))
				ctl_fail_as_json();
			return usage_error(c, err.text, ret_exit);
		}
	}
	if (c->json)
		ctl_fail_as_json();
	if (help) {
		command_help(c->command);
		*ret_exit = CTL_OK;
		return -1;
	}
	if (n < c->command->least)
		return usage_error(c, "an argument is missing", ret_exit);
	if (!any && n > c->command->most)
		return usage_error(c, "too many arguments", ret_exit);
	return n;
}

bool
ctl_usage_word(const char *usage, bool options, size_t n, const char **ret, size_t *ret_n)
{
	const char *p = usage;

	while (*p != '\0') {
		size_t len, word = strcspn(p, " []");
		bool is_opt = strncmp(p, "--", 2) == 0 && word > 2;
		bool fixed = p == usage && word > 0 && islower((unsigned char)*p);

		if (options ? is_opt : fixed) {
			for (const char *end = p + word; p < end;
			     p += len + (p[len] == '|')) {
				len = strcspn(p, "| []");
				if (n-- == 0) {
					*ret = p;
					*ret_n = len;
					return true;
				}
			}
		} else {
			p += word;
		}
		p += strspn(p, " []");
	}
	return false;
}
