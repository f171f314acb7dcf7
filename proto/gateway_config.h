/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar of one gateway of brain.json ("gateways": {NAME: {...}}). The vault reads it to
 * check the file, to decide, and to say what tools there are; ats-gateway reads the same text
 * again to run them. The input is the user's own file: what is not known is an error that
 * names the key. No I/O. */
#ifndef ATS_PROTO_GATEWAY_CONFIG_H
#define ATS_PROTO_GATEWAY_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define ATS_GW_OBJECT_MAX (60u << 10)	/* bytes of its object without white space */
#define ATS_GW_TOOLS_MAX 256		/* of one gateway */
#define ATS_GW_TOOL_NAME_MAX 128	/* bytes of an upstream's name for a tool, with the NUL */
#define ATS_GW_TOOL_JSON_MAX (32u << 10)	/* what tools/list says of one tool */
#define ATS_GW_TIMEOUT_MS 60000		/* of a call, where nothing says another */

enum ats_gw_kind { ATS_GW_HTTP = 1, ATS_GW_COMMAND = 2, ATS_GW_MCP = 4 };
enum ats_gw_auth { ATS_GW_AUTH_NONE, ATS_GW_AUTH_BEARER, ATS_GW_AUTH_BASIC, ATS_GW_AUTH_HEADER,
	ATS_GW_AUTH_QUERY };
enum ats_gw_body { ATS_GW_BODY_NONE, ATS_GW_BODY_JSON, ATS_GW_BODY_FORM, ATS_GW_BODY_TEXT,
	ATS_GW_BODY_FILE };
enum ats_gw_permission { ATS_GW_UNSAID, ATS_GW_ALLOW, ATS_GW_ASK, ATS_GW_DENY };

struct ats_gw_words {			/* v is NULL-terminated, or NULL where n is 0 */
	char **v;
	size_t n;
};
struct ats_gw_pair {
	char *name, *value;
};
struct ats_gw_pairs {
	struct ats_gw_pair *v;
	size_t n;
};
/* "/repos/{owner}/x": literal text and names of arguments, in order. A literal holds no brace. */
struct ats_gw_part {
	bool is_arg;
	char *text;
};
struct ats_gw_template {
	struct ats_gw_part *v;
	size_t n;
};
struct ats_gw_query {			/* one parameter: its name as it is, unencoded */
	char *name;
	struct ats_gw_template value;
};

struct ats_gw_tool {
	char *name;
	unsigned flags;			/* enum ats_gateway_flag of proto/brain.h */
	bool says_flags;		/* the file says one of them: they come before a server's */
	enum ats_gw_permission permission;
	uint64_t timeout_ms;		/* 0: the gateway's */
	/* http and command */
	char *description;
	char *input;			/* JSON Schema of an object, as text: files are strings */
	struct ats_gw_words required;	/* of input */
	struct ats_gw_words files;	/* properties of input whose type is file, in its order */
	/* http. Arguments of path are required ones. */
	char *method;			/* GET, HEAD, POST, PUT, PATCH or DELETE */
	struct ats_gw_template path;	/* starts with '/'; no '?', '#', or segment of dots only */
	struct ats_gw_query *query;	/* one whose argument is absent from a call is left out */
	size_t nquery;
	enum ats_gw_body body;		/* JSON, FORM: all arguments but those of path and query */
	char *body_arg;			/* TEXT, FILE: the argument that it is */
	/* command */
	struct ats_gw_words argv;	/* absolute path first */
};

struct ats_gw_url {
	bool tls;
	char host[256];			/* lower case; an IPv6 address without brackets */
	uint16_t port;
	char *path;			/* owned; before each tool's path: "" or "/x" without '/' */
};

struct ats_gw_config {
	char *name;
	enum ats_gw_kind kind;
	char *credential;		/* a name of "credentials", or NULL */
	uint64_t timeout_ms;		/* of tools that say none */
	/* http, and mcp with url */
	bool has_url;
	struct ats_gw_url url;
	enum ats_gw_auth auth;
	char *auth_name;		/* BASIC the user, HEADER, QUERY: its name; else NULL */
	struct ats_gw_pairs headers;
	bool allow_private;
	char *ca;			/* absolute path, or NULL */
	/* command, and mcp with argv */
	struct ats_gw_words argv;	/* of mcp */
	struct ats_gw_pairs env;
	char *cwd;			/* absolute, or NULL */
	char *credential_env;		/* the variable that holds the credential, or NULL */
	int credential_fd;		/* or the descriptor that gives it, else -1 */
	/* mcp: these tools alone; n 0 and !has_allow: all that the server has */
	bool has_allow;
	struct ats_gw_words allow;
	/* http, command: the tools. mcp: what is said of the server's, whose names these are. */
	struct ats_gw_tool *tools;
	size_t ntools;
};

/* Reads the object, whose text ats_json_scan has accepted. ats_gw_config_done after success.
 * -ATS_E_CONFIG with "gateways.NAME.KEY: what is wrong and what to do", -ATS_E_NOMEM. */
ATS_NODISCARD int ats_gw_config_read(struct ats_gw_config *ret, const char *name,
    struct ats_slice object, struct ats_err *err);
void ats_gw_config_done(struct ats_gw_config *c);	/* zeroed ones are fine */
/* Whether name can be one of a gateway: [a-z][a-z0-9_-]*, without "__", not reserved. */
ATS_NODISCARD int ats_gw_check_name(const char *name, struct ats_err *err);
/* The tool of this name, or NULL. */
const struct ats_gw_tool *ats_gw_find_tool(const struct ats_gw_config *c, const char *name);
/* Whether an argument goes anywhere in a request of kind http: its name as JSON has it between the
 * quotes. */
bool ats_gw_takes_arg(const struct ats_gw_tool *t, struct ats_slice key);
/* The same of the path and the query alone. */
bool ats_gw_target_takes_arg(const struct ats_gw_tool *t, struct ats_slice key);
/* Appends the JSON of a tool: description, inputSchema, annotations as for tools/list, timeoutMs,
 * and files, the names of arguments that are files. */
ATS_NODISCARD int ats_gw_tool_json(const struct ats_gw_config *c, const struct ats_gw_tool *t,
    struct ats_buf *out);
/* How long a call of it may take, in ms; t may be NULL, of a tool that c does not name. */
uint64_t ats_gw_timeout_ms(const struct ats_gw_config *c, const struct ats_gw_tool *t);
/* GATEWAY__TOOL as agents see it, characters outside of [A-Za-z0-9_-] as '_'. out holds
 * ATS_GATEWAY_TOOL_MAX bytes. -ATS_E_TOOBIG where it is longer, or the tool's name is empty. */
ATS_NODISCARD int ats_gw_whole_name(const char *gateway, const char *tool, char *out);

#endif
