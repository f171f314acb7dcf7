/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of ats-http; they are the user's. */
#include "brain/http/options.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "common/options.h"
#include "common/workspace.h"

#define SECONDS_MAX 3600

static const char usage_text[] =
    "usage: ats-http --token-file FILE [--listen ADDRESS:PORT | unix:PATH]... [--workspace DIR]\n"
    "                [--runtime DIR] [--host NAME]... [--origin ORIGIN]...\n"
    "                [--metrics-token-file FILE] [--head-seconds N] [--body-seconds N]\n"
    "                [--write-seconds N]\n"
    "\n"
    "MCP over Streamable HTTP at http://ADDRESS:PORT/mcp, for brain's sandbox of DIR.\n"
    "  --token-file FILE  what a client must send as Authorization: Bearer; 0600, 32 bytes\n"
    "  --listen ADDRESS   127.0.0.1:8765 when nothing is said; an address of this machine's own\n"
    "                     loopback, or unix:PATH; up to four of them\n"
    "  --workspace DIR    the workspace; the current directory when nothing is said\n"
    "  --runtime DIR      where brain's sockets are\n"
    "  --host NAME        another Host that requests may name (behind a proxy)\n"
    "  --origin ORIGIN    a web page's origin that may ask, beside those of loopback\n"
    "  --metrics-token-file FILE  another token, with which /metrics can be read and nothing else\n"
    "  --head-seconds N, --body-seconds N, --write-seconds N\n"
    "                     how long a client may take for a head, for a body, and without taking\n"
    "                     anything of an answer: 10, 60, 60\n"
    "  --help, --version\n";

static const struct option longs[] = {
	{ "listen", required_argument, NULL, 'l' },
	{ "token-file", required_argument, NULL, 't' },
	{ "workspace", required_argument, NULL, 'w' },
	{ "runtime", required_argument, NULL, 'r' },
	{ "host", required_argument, NULL, 'H' },
	{ "origin", required_argument, NULL, 'o' },
	{ "metrics-token-file", required_argument, NULL, 'm' },
	{ "head-seconds", required_argument, NULL, '1' },
	{ "body-seconds", required_argument, NULL, '2' },
	{ "write-seconds", required_argument, NULL, '3' },
	{ "vault-fd", required_argument, NULL, 'v' },
	{ "brain-version", required_argument, NULL, 'b' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void __attribute__((noreturn, format(printf, 1, 2)))
wrong(const char *fmt, ...)
{
	va_list ap;

	(void)fprintf(stderr, "%sats-http: ", ats_log_mark(ATS_LOG_ERROR));
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputs("; ats-http --help lists the options\n", stderr);
	exit(2);
}

static void
take_listen(struct options *o, const char *text)
{
	struct ats_err err = { 0 };

	if (o->nlisten == HTTP_LISTENERS)
		wrong("--listen: %u at most", HTTP_LISTENERS);
	if (ats_addr_parse_own(text, &o->listen[o->nlisten], &err) < 0)
		wrong("--listen: %s", err.text);
	o->nlisten++;
}

/* A socket that the spawner made for this. */
static int
take_fd(const char *text)
{
	int fd = ats_options_fd(text);

	if (fd < 3 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		wrong("--vault-fd: not an open descriptor");
	return fd;
}

static unsigned
take_seconds(const char *what, const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end != '\0' || n < 1 || n > SECONDS_MAX)
		wrong("%s: expected 1 to %d", what, SECONDS_MAX);
	return (unsigned)n;
}

static void
take_name(const char *what, const char **names, unsigned *n, const char *name)
{
	if (*n == HTTP_NAMES)
		wrong("%s: %u at most", what, HTTP_NAMES);
	if (name[0] == '\0' || strpbrk(name, " \t\r\n,") != NULL)
		wrong("%s: expected one name", what);
	names[(*n)++] = name;
}

static void
find_sockets(struct options *o, const char *runtime, struct ats_places *ret_places)
{
	struct ats_err err = { 0 };

	if (ats_places_find(ret_places, &err) < 0 && runtime == NULL)
		wrong("%s", err.text);
	if (runtime != NULL && strlen(runtime) >= ATS_PATH_MAX)
		wrong("--runtime: the path is too long");
	if (runtime != NULL)
		(void)snprintf(ret_places->runtime, sizeof(ret_places->runtime), "%s", runtime);
	(void)snprintf(o->vault, sizeof(o->vault), "%s/vault.sock", ret_places->runtime);
	(void)snprintf(o->door, sizeof(o->door), "%s/brain.sock", ret_places->runtime);
}

/* A token that its own sandbox can read protects nothing. */
static void
check_outside(const struct options *o, const char *what, const char *file)
{
	char *real = file != NULL ? realpath(file, NULL) : NULL;

	if (real != NULL && ats_path_is_within(o->workspace, real))
		wrong("%s: %s must not lie in the workspace, whose sandbox could read it", what,
		    file);
	free(real);		/* who reads it says why it cannot be */
}

/* As brain would at the first request; what brain hands us it has looked at already. */
static void
find_workspace(struct options *o, const char *given, const struct ats_places *places)
{
	static struct ats_homes homes;
	struct ats_err err = { 0 };
	char *full = realpath(given, NULL);

	if (full == NULL || strlen(full) >= sizeof(o->workspace))
		wrong("--workspace: %s: %s", given,
		    strerror(full == NULL ? errno : ENAMETOOLONG));
	if (o->vault_fd >= 0)
		(void)snprintf(o->workspace, sizeof(o->workspace), "%s", full);
	else if (ats_homes_find(&homes, places, &err) < 0 ||
	    ats_workspace_check(&homes, full, o->workspace, &err) < 0)
		wrong("--workspace: %s", err.text);
	free(full);
	if (o->vault_fd >= 0)
		return;
	check_outside(o, "--token-file", o->token_file);
	check_outside(o, "--metrics-token-file", o->metrics_token_file);
}

void
options_parse(int argc, char **argv, struct options *ret)
{
	const char *runtime = NULL, *workspace = ".";
	static struct ats_places places;
	int opt;

	*ret = (struct options){ .body_max = HTTP_BODY, .vault_fd = -1,
		.head_s = HTTP_HEAD_S, .body_s = HTTP_BODY_S, .write_s = HTTP_WRITE_S };
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":Vh", longs, NULL)) != -1) {
		switch (opt) {
		case 'l':
			take_listen(ret, optarg);
			break;
		case 't':
			ret->token_file = optarg;
			break;
		case 'w':
			workspace = optarg;
			break;
		case 'r':
			runtime = optarg;
			break;
		case 'H':
			take_name("--host", ret->hosts, &ret->nhosts, optarg);
			break;
		case 'o':
			take_name("--origin", ret->origins, &ret->norigins, optarg);
			break;
		case 'm':
			ret->metrics_token_file = optarg;
			break;
		case '1':
			ret->head_s = take_seconds("--head-seconds", optarg);
			break;
		case '2':
			ret->body_s = take_seconds("--body-seconds", optarg);
			break;
		case '3':
			ret->write_s = take_seconds("--write-seconds", optarg);
			break;
		case 'v':
			ret->vault_fd = take_fd(optarg);
			break;
		case 'b':
			ret->brain_version = optarg;
			break;
		case 'V':
			ats_options_say("ats-http " ATS_VERSION "\n");
		case 'h':
			ats_options_say(usage_text);
		case ':':
			wrong("%s wants a value", argv[optind - 1]);
		default:
			wrong("unknown option %s", argv[optind - 1]);
		}
	}
	if (optind < argc)
		wrong("%s is no option", argv[optind]);
	if (ret->token_file == NULL)
		wrong("--token-file is missing: whoever has its content may use the tools");
	if (ret->nlisten == 0)
		take_listen(ret, "127.0.0.1:8765");
	find_sockets(ret, runtime, &places);
	find_workspace(ret, workspace, &places);
}
