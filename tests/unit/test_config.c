/* SPDX-License-Identifier: Apache-2.0
 *
 * The host configuration: what is passed on, mistakes, and that the table agrees with what
 * the engine understands. */
#include "brain/vault/provider.h"
#include "common/workspace.h"
#include "proto/brain.h"
#include "tests/lib/unit.h"

#include <unistd.h>

static struct ats_homes homes = { .home = { "/home/somebody" }, .own = { "/run/x", "/var/x" } };
static struct ats_err err;
static struct config conf;

static int
parse(const char *text)
{
	return config_parse(&conf, "test", text, text != NULL ? strlen(text) : 0, &homes, &err);
}

static char *
lines(enum config_who who)
{
	struct ats_buf b;

	ats_buf_init(&b, CONFIG_TEXT_MAX);
	ck_assert_int_eq(config_lines(&conf, who, &b), 0);
	return ats_buf_steal(&b, NULL);
}

/* Nothing said of them: what limits= says. */
#define LIMITS                                                                           \
	"memory_mib=0\nprocesses=0\nbox_processes=0\ncpu_s=0\nopen_files=0\nfile_mib=0\n"   \
	"disk_mib=0\nbackground_jobs=0\nbackground_life_s=0\n"

START_TEST(defaults_are_passed_to_whom_they_concern)
{
	char *text;

	ck_assert_msg(parse(NULL) == 0, "%s", err.text);
	ck_assert_uint_eq(conf.idle_exit_s, 600);
	ck_assert_int_eq(conf.level, ATS_LOG_INFO);
	text = lines(CONFIG_HANDS);
	ck_assert_str_eq(text,
	    "retention_s=300\nmin_level=namespaces\nnet=off\nlimits=default\n" LIMITS
	    "git_config=0\n");
	free(text);
	text = lines(CONFIG_ENGINE);
	ck_assert_ptr_nonnull(strstr(text, "log_level=info\n"));
	ck_assert_ptr_nonnull(strstr(text, "retry_limit=3\n"));
	ck_assert_ptr_null(strstr(text, "retention_s"));
	ck_assert_ptr_null(strstr(text, "idle_exit_s"));
	free(text);
	config_done(&conf);
}
END_TEST

START_TEST(values_and_lists_are_passed_on)
{
	char *text;

	ck_assert_msg(parse("{\"retry_limit\": 0, \"log_level\": \"debug\", \"sandbox\": {"
	    "\"read_only\": [\"/usr/lib\", \"/usr/bin\"], \"env\": {\"A\": \"1\", \"B\": \"x=y\"},"
	    "\"min_level\": \"landlock\"}}") == 0, "%s", err.text);
	ck_assert_int_eq(conf.level, ATS_LOG_DEBUG);
	text = lines(CONFIG_HANDS);
	ck_assert_str_eq(text,
	    "retention_s=300\nmin_level=landlock\nnet=off\nlimits=default\n" LIMITS
	    "ro=/usr/lib\nro=/usr/bin\ngit_config=0\nenv=A=1\nenv=B=x=y\n");
	free(text);
	text = lines(CONFIG_ENGINE);
	ck_assert_ptr_nonnull(strstr(text, "retry_limit=0\n"));
	free(text);
	config_done(&conf);
}
END_TEST

#define S(x) "{\"sandbox\": {" x "}}"
/* The key is named, and the entry of it that is wrong. */
START_TEST(wrong_entries_are_named)
{
	static const char *const rows[][3] = {
		{ S("\"read_only\": [\"/usr\", \"opt/x\"]"), "sandbox.read_only",
		    "opt/x" },
		{ S("\"read_only\": [\"/no/where\"]"), "sandbox.read_only",
		    "/no/where" },
		{ S("\"read_only\": [\"/usr\", \"/a\\nb\"]"), "sandbox.read_only",
		    "entry 2" },
		{ S("\"read_only\": [\"/usr\", 77]"), "sandbox.read_only",
		    "entry 2 is 77" },
		{ S("\"deny_read\": [\".env\", \"# no\"]"), "sandbox.deny_read",
		    "entry 2, \"# no\"" },
		{ S("\"deny_read\": [\"\"]"), "sandbox.deny_read",
		    "entry 1, \"\"" },
		{ S("\"deny_read\": [\"a\", \"x\\ny\"]"), "sandbox.deny_read",
		    "entry 2" },
		{ S("\"deny_read\": [{}]"), "sandbox.deny_read",
		    "entry 1 is {}" },
		{ S("\"env\": {\"OK\": \"\", \"A=B\": \"x\"}"), "sandbox.env",
		    "\"A=B\" names no variable" },
		{ S("\"env\": {\"\": \"x\"}"), "sandbox.env",
		    "\"\" names no variable" },
		{ S("\"env\": {\"OK\": \"\", \"A\": 7}"), "sandbox.env",
		    "\"A\"" },
		{ S("\"env\": {\"OK\": \"\", \"AB\": \"x\\ny\"}"), "sandbox.env",
		    "AB has" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_msg(parse(rows[i][0]) < 0, "%s is accepted", rows[i][0]);
		for (size_t k = 1; k < 3; k++)
			ck_assert_msg(strstr(err.text, rows[i][k]) != NULL, "%s: %s",
			    rows[i][0], err.text);
	}
}
END_TEST

START_TEST(mistakes_are_named)
{
	static const char *const rows[][2] = {
		{ "{\"idle_exit\": 1}", "idle_exit" },
		{ "{\"idle_exit_s\": \"1\"}", "idle_exit_s" },
		{ "{\"limits\": {\"sandboxes\": 0}}", "limits.sandboxes" },
		{ "{\"limits\": {\"sandboxes\": 1025}}", "limits.sandboxes" },
		{ "{\"limits\": {\"nothing\": 1}}", "limits.nothing" },
		{ "{\"limits\": 1}", "limits" },
		{ "{\"log_level\": \"all\"}", "log_level" },
		{ "{\"sandbox\": {\"limits\": \"none\"}}", "sandbox.limits" },
		{ "{\"sandbox\": {\"memory_mib\": 63}}", "sandbox.memory_mib" },
		{ "{\"sandbox\": {\"background_jobs\": 49}}", "sandbox.background_jobs" },
		{ "{\"sandbox\": {\"processes\": -1}}", "sandbox.processes" },
		{ "{\"sandbox\": {\"cpu_s\": 1.5}}", "sandbox.cpu_s" },
		{ "{\"sandbox\": {\"min_level\": \"\"}}", "sandbox.min_level" },
		{ "{\"sandbox\": {\"network\": \"on\"}}", "sandbox.network" },
		{ "{\"sandbox\": {\"read_only\": [\"usr\"]}}", "sandbox.read_only" },
		{ "{\"sandbox\": {\"read_only\": [\"/\"]}}", "sandbox.read_only" },
		{ "{\"sandbox\": {\"read_only\": [\"/no\\nwhere\"]}}", "sandbox.read_only" },
		{ "{\"sandbox\": {\"env\": {\"A\": \"x\\ny\"}}}", "sandbox.env" },
		{ "[]", "test" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_msg(parse(rows[i][0]) < 0, "%s is accepted", rows[i][0]);
		ck_assert_msg(strstr(err.text, rows[i][1]) != NULL, "%s: %s", rows[i][0],
		    err.text);
	}
}
END_TEST

#define FAR(url, more) "{\"sandbox\": {\"url\": \"" url "\"" more "}, \"commands\": {"         \
	"\"pod\": [\"/usr/bin/podman\", \"exec\"], \"up-2_B\": [\"/x\"]}}"
START_TEST(sandboxes_elsewhere)
{
	const struct ats_conf_strv *argv;

	ck_assert_msg(parse(NULL) == 0, "%s", err.text);
	ck_assert_int_eq(conf.provider, PROVIDER_STDIO);
	config_done(&conf);
	ck_assert_msg(parse(FAR("unix:/run/x/s", ", \"allow_uids\": [\"7\", \"4294967294\"]")) == 0,
	    "%s", err.text);
	ck_assert_int_eq(conf.provider, PROVIDER_UNIX);
	ck_assert_str_eq(conf.provider_at, "/run/x/s");
	ck_assert(config_allows_uid(&conf, 0) && config_allows_uid(&conf, getuid()));
	ck_assert(config_allows_uid(&conf, 7) && config_allows_uid(&conf, 4294967294u));
	ck_assert(!config_allows_uid(&conf, getuid() + 1));
	config_done(&conf);
	ck_assert_msg(parse(FAR("exec:pod", "")) == 0, "%s", err.text);
	ck_assert_int_eq(conf.provider, PROVIDER_EXEC);
	argv = config_command(&conf, conf.provider_at);
	ck_assert_ptr_nonnull(argv);
	ck_assert_uint_eq(argv->n, 2);
	ck_assert_str_eq(argv->v[1], "exec");
	ck_assert_ptr_null(argv->v[2]);
	ck_assert_ptr_null(config_command(&conf, "po"));
	/* The environment's comes before the file's, and is judged alike. */
	ck_assert_int_eq(config_set_url(&conf, "REMOTE_TOOLS_URL", "stdio", &err), 0);
	ck_assert_int_eq(conf.provider, PROVIDER_STDIO);
	ck_assert_int_lt(config_set_url(&conf, "REMOTE_TOOLS_URL", "exec:nothing", &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "REMOTE_TOOLS_URL: "));
	config_done(&conf);
}
END_TEST

#define PIN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
START_TEST(sandboxes_over_a_network)
{
	static const struct {
		const char *text;
		enum provider provider;
		enum ats_addr_kind kind;
		const char *host, *warning;
		unsigned port;
	} rows[] = {
		{ FAR("tcp://127.0.0.1:9", ""), PROVIDER_CONNECT, ATS_ADDR_TCP, "127.0.0.1", NULL,
		    9 },
		{ FAR("ws://localhost:80/a/b", ", \"allow_plain\": true"), PROVIDER_CONNECT,
		    ATS_ADDR_WS, "localhost", NULL, 80 },
		{ FAR("tcp://h.example:9", ", \"allow_plain\": true"), PROVIDER_CONNECT,
		    ATS_ADDR_TCP, "h.example", "allow_plain", 9 },
		{ FAR("tls://h.example:443", ", \"tls_pin\": \"" PIN "\""), PROVIDER_CONNECT,
		    ATS_ADDR_TLS, "h.example", NULL, 443 },
		{ FAR("wss://h.example:443/x", ", \"tls_ca\": \"/etc/ca.pem\""),
		    PROVIDER_CONNECT, ATS_ADDR_WSS, "h.example", NULL, 443 },
		{ FAR("wss://h.example:443/x", ", \"proxy\": \"http://u:p@x.example:3128\""),
		    PROVIDER_CONNECT, ATS_ADDR_WSS, "h.example", NULL, 443 },
		{ FAR("listen:tls://[::]:7000", ""), PROVIDER_LISTEN, ATS_ADDR_TLS, "::", NULL,
		    7000 },
		{ FAR("listen:tcp://[::1]:7000", ""), PROVIDER_LISTEN, ATS_ADDR_TCP, "::1", NULL,
		    7000 },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_msg(parse(rows[i].text) == 0, "%s: %s", rows[i].text, err.text);
		ck_assert_int_eq(conf.provider, rows[i].provider);
		ck_assert_int_eq(conf.addr.kind, rows[i].kind);
		ck_assert_str_eq(conf.addr.host, rows[i].host);
		ck_assert_uint_eq(conf.addr.port, rows[i].port);
		ck_assert_uint_eq(conf.via.at.port, strstr(rows[i].text, "proxy") ? 3128 : 0);
		if (rows[i].warning == NULL)
			ck_assert_ptr_null(config_warning(&conf, 0));
		else
			ck_assert_ptr_nonnull(strstr(config_warning(&conf, 0), rows[i].warning));
		config_done(&conf);
	}
}
END_TEST

#define SCRIPT(url, more) "{\"sandbox\": {\"url\": \"" url "\"" more "}, \"commands\": {"      \
	"\"pod.build\": [\"/b\", \"x\"], \"pod.destroy\": [\"/d\"], \"bare\": [\"/x\"]}}"
#define DIR ", \"script_dir\": \"/run/boxes/\""
static bool
may_name(const char *url)
{
	struct ats_addr a;

	ck_assert_msg(ats_addr_parse(url, &a, &err) == 0, "%s: %s", url, err.text);
	return config_check_script_addr(&conf, &a, &err) == 0;
}

START_TEST(sandboxes_of_scripts)
{
	ck_assert_msg(parse(SCRIPT("script:pod", DIR ", \"warm\": 2, \"allow_uids\": "
	    "[\"7\"]")) == 0, "%s", err.text);
	ck_assert_int_eq(conf.provider, PROVIDER_SCRIPT);
	ck_assert_str_eq(config_script(&conf, SCRIPT_BUILD)->v[1], "x");
	ck_assert_str_eq(config_script(&conf, SCRIPT_DESTROY)->v[0], "/d");
	ck_assert_ptr_null(config_script(&conf, SCRIPT_PROBE));
	ck_assert_ptr_null(config_script(&conf, 0));
	ck_assert_ptr_null(config_script(&conf, 4));
	ck_assert_ptr_null(config_script(&conf, UINT64_MAX));
	ck_assert(may_name("unix:/run/boxes/a.sock") && may_name("unix:/run/boxes/a/b.sock"));
	ck_assert(!may_name("unix:/run/boxes") && !may_name("unix:/run/boxesx/a"));
	ck_assert(!may_name("unix:/run/boxes/../docker.sock") && !may_name("unix:/run/x"));
	ck_assert(!may_name("tcp://127.0.0.1:1") && !may_name("tls://h.example:1"));
	config_done(&conf);
	ck_assert_msg(parse(SCRIPT("script:pod", ", \"script_hosts\": [\"a.example:7000\", "
	    "\"B.example\", \"[::1]\", \"127.0.0.1:80\"]")) == 0, "%s", err.text);
	ck_assert(may_name("tls://a.example:7000") && may_name("wss://A.Example:7000/x"));
	ck_assert(may_name("tls://b.example:1") && may_name("tcp://[::1]:9"));
	ck_assert(may_name("ws://127.0.0.1:80/"));
	ck_assert(!may_name("tls://a.example:7001") && !may_name("tls://x.a.example:7000"));
	ck_assert(!may_name("tls://b.example:0") && !may_name("tcp://127.0.0.1:81"));
	ck_assert(!may_name("tcp://a.example:7000"));	/* no TLS */
	ck_assert(!may_name("unix:/run/boxes/a.sock"));
	config_done(&conf);
	/* A step is no command for exec:, and without script: there is no step. */
	ck_assert_msg(parse(SCRIPT("exec:bare", "")) == 0, "%s", err.text);
	ck_assert_ptr_null(config_script(&conf, SCRIPT_BUILD));
	config_done(&conf);
}
END_TEST

#define COMMANDS(x) "{\"commands\": " x "}"
#define LONG "/0123456789012345678901234567890123456789012345678901234567890123456789"
START_TEST(what_is_no_sandbox_elsewhere)
{
	static const char *const rows[][2] = {
		{ FAR("tcp://h:1", ""), "set sandbox.allow_plain" },
		{ FAR("ws://h:1/p", ""), "use wss://, or set sandbox.allow_plain" },
		{ FAR("tcp://10.0.0.1:1", ""), "use tls://, or set" },
		{ FAR("listen:tcp://0.0.0.0:1", ""), "set sandbox.allow_plain" },
		{ FAR("listen:ws://[::]:1/p", ""), "set sandbox.allow_plain" },
		{ FAR("tls://h:0", ""), "a port is needed" },
		{ FAR("tls://h", ""), "test: \"sandbox.url\": " },
		{ FAR("tls://:1", ""), "test: \"sandbox.url\": " },
		{ FAR("wss://h:99999/p", ""), "test: \"sandbox.url\": " },
		{ FAR("listen:unix:/x", ""), "listens itself" },
		{ FAR("listen:", ""), "test: \"sandbox.url\": " },
		{ FAR("listen:stdio", ""), "test: \"sandbox.url\": " },
		{ FAR("listen:exec:pod", ""), "test: \"sandbox.url\": " },
		{ FAR("", ""), "must be stdio, unix:/PATH, exec:NAME, tcp://" },
		{ FAR("TCP://h:1", ""), "must be stdio" },
		{ FAR("exec:pod", ", \"allow_plain\": true"), "\"sandbox.allow_plain\" is for" },
		{ FAR("tls://h:1", ", \"proxy\": \"x:1\""), "\"sandbox.proxy\": a proxy is http" },
		{ FAR("listen:tls://[::1]:1", ", \"proxy\": \"http://x:1\""),
		    "\"sandbox.proxy\" is for" },
		{ FAR("tls://h:1", ", \"tls_pin\": \"ab\""), "must be 64 digits" },
		{ FAR("tls://h:1", ", \"tls_pin\": \"" PIN "0\""), "must be 64 digits" },
		{ FAR("tls://h:1", ", \"tls_ca\": \"ca.pem\""), "\"ca.pem\" must be the absolute" },
		{ FAR("unix:/s", ", \"tls_ca\": \"/ca.pem\""), "\"sandbox.tls_ca\" is for" },
		{ FAR("tcp://[::1]:1", ", \"tls_pin\": \"" PIN "\""),
		    "\"sandbox.tls_pin\" is for" },
		{ FAR("listen:tls://[::1]:1", ", \"tls_ca\": \"/c\""),
		    "\"sandbox.tls_ca\" is for" },
		{ FAR("tls://h:1", ", \"allow_uids\": [\"7\"]"), "for a sandbox.url of unix:" },
		{ FAR("tls://h:1", ", \"network\": \"host\""),
		    "\"sandbox.network\" has no effect" },
		{ FAR("STDIO", ""), "must be stdio" },
		{ FAR("stdio:", ""), "must be stdio" },
		{ FAR("ssh:host", ""), "must be stdio" },
		{ FAR("unix:", ""), "absolute path" },
		{ FAR("unix:run/s", ""), "absolute path" },
		{ FAR("unix:/", ""), "absolute path" },
		{ FAR("unix:" LONG LONG, ""), "at most 107 bytes" },
		{ FAR("unix:/a\\nb", ""), "control characters" },
		{ FAR("unix:" LONG LONG LONG, ""), "at most 200 bytes" },
		{ FAR("exec:", ""), "has no \"\"" },
		{ FAR("exec:docker", ""), "has no \"docker\"" },
		{ FAR("unix:/s", ", \"network\": \"host\""), "\"sandbox.network\" has no effect" },
		{ FAR("unix:/s", ", \"memory_mib\": 100"), "\"sandbox.memory_mib\" has no effect" },
		{ FAR("unix:/s", ", \"git_config\": true"), "\"sandbox.git_config\" has no" },
		{ FAR("exec:pod", ", \"env\": {\"A\": \"b\"}"), "\"sandbox.env\" has no effect" },
		{ FAR("unix:/s", ", \"allow_uids\": [\"-1\"]"), "\"-1\" must be the number" },
		{ FAR("unix:/s", ", \"allow_uids\": [\"4294967295\"]"), "must be the number" },
		{ FAR("unix:/s", ", \"allow_uids\": [\"\"]"), "must be the number" },
		{ FAR("unix:/s", ", \"allow_uids\": [7]"), "array of strings" },
		{ FAR("stdio", ", \"allow_uids\": [\"7\"]"),
		    "for a sandbox.url of unix: and script:" },
		{ SCRIPT("script:", DIR), "has no \".build\"" },
		{ SCRIPT("script:pod.build", DIR), "has no \"pod.build.build\"" },
		{ SCRIPT("script:bare", DIR), "has no \"bare.build\"" },
		{ SCRIPT("script:pod", ""), "needs sandbox.script_dir" },
		{ SCRIPT("script:pod", ", \"script_hosts\": [\"a:b\"]"), "\"a:b\" must be HOST" },
		{ SCRIPT("script:pod", ", \"script_hosts\": [\"tls://a:7\"]"), "must be HOST" },
		{ SCRIPT("script:pod", ", \"script_hosts\": [\"a:0\"]"), "must be HOST" },
		{ SCRIPT("script:pod", ", \"script_hosts\": [\"\"]"), "must be HOST" },
		{ SCRIPT("script:pod", DIR ", \"tls_pin\": \"" PIN "\""),
		    "or sandbox.script_hosts" },
		{ SCRIPT("exec:bare", ", \"script_hosts\": [\"a\"]"), "of script: only" },
		{ SCRIPT("script:pod", ", \"script_dir\": \"run\""), "must be the absolute" },
		{ SCRIPT("script:pod", ", \"script_dir\": \"/\""), "must be the absolute" },
		{ SCRIPT("script:pod", ", \"script_dir\": \"/a/../b\""), "must be the absolute" },
		{ SCRIPT("script:pod", DIR ", \"warm\": 9"), "sandbox.warm" },
		{ SCRIPT("script:pod", DIR ", \"allow_plain\": true"),
		    "\"sandbox.allow_plain\" is" },
		{ SCRIPT("exec:bare", DIR), "\"sandbox.script_dir\" is for" },
		{ SCRIPT("exec:bare", ", \"warm\": 1"), "\"sandbox.warm\" is for" },
		{ SCRIPT("exec:bare", ", \"build_timeout_s\": 9"),
		    "\"sandbox.build_timeout_s\" is for" },
		{ SCRIPT("exec:pod.build", ""), "has no \"pod.build\"" },
		{ COMMANDS("{\"a.b\": [\"/x\"]}"), "\"a.b\": a name has" },
		{ COMMANDS("{\".build\": [\"/x\"]}"), "\".build\": a name has" },
		{ COMMANDS("[]"), "\"commands\" must be an object" },
		{ COMMANDS("{\"a\": \"/bin/x\"}"), "\"commands.a\" must be an array" },
		{ COMMANDS("{\"a\": []}"), "\"commands.a\" is empty" },
		{ COMMANDS("{\"a\": [\"x\"]}"), "\"commands.a\": \"x\" must be the absolute" },
		{ COMMANDS("{\"a\": [\"/x\", 7]}"), "\"commands.a\" must be at most 64 strings" },
		{ COMMANDS("{\"a\": [\"/x\", \"\\u0000\"]}"), "without NUL: entry 2" },
		{ COMMANDS("{\"a b\": [\"/x\"]}"), "\"a b\": a name has" },
		{ COMMANDS("{\"\": [\"/x\"]}"), "a name has" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_msg(parse(rows[i][0]) < 0, "%s is accepted", rows[i][0]);
		ck_assert_msg(strstr(err.text, rows[i][1]) != NULL, "%s: %s", rows[i][0],
		    err.text);
	}
}
END_TEST

#define G(cred, gw) "{\"credentials\": {" cred "}, /* c */ \"gateways\": {" gw "}}"
#define CMD "\"kind\":\"command\", \"tools\": {\"t\": {\"description\":\"a  /*b*/\", " \
	"\"argv\":[\"/bin/true\"]}}"
START_TEST(gateways_and_their_credentials)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "{\"gateways\": []}", "\"gateways\" must be an object" },
		{ "{\"credentials\": 1}", "\"credentials\" must be an object" },
		{ G("\"a b\": {\"file\": \"/x\"}", ""), "credentials.a b: a name" },
		{ G("\"a\": \"/x\"", ""), "credentials.a: must be {" },
		{ G("\"a\": {}", ""), "credentials.a: must be {" },
		{ G("\"a\": {\"file\": \"/x\", \"mode\": 1}", ""), "credentials.a: must be {" },
		{ G("\"a\": {\"env\": \"X\"}", ""), "credentials.a: must be {" },
		{ G("\"a\": {\"file\": \"x\"}", ""), "absolute path" },
		{ G("\"a\": {\"file\": \"/x/\"}", ""), "absolute path" },
		{ G("\"a\": {\"systemd\": \"../x\"}", ""), "LoadCredential" },
		{ G("\"a\": {\"command\": \"/x\"}", ""), "array of strings" },
		{ G("\"a\": {\"command\": [\"pass\"]}", ""), "absolute path" },
		{ G("\"a\": {\"command\": []}", ""), "absolute path" },
		{ G("", "\"ats\": {" CMD "}"), "gateways.ats: the name is brain's own" },
		{ G("", "\"x\": {" CMD ", \"credential\": \"c\", \"credential_env\": \"C\"}"),
		    "gateways.x.credential: \"c\" is not in \"credentials\"" },
		{ G("", "\"x\": {" CMD ", \"colour\": 1}"), "gateways.x.colour: unknown key" },
	};
	const struct gateway_source *g;

	ck_assert_msg(parse(G("\"f\": {\"file\": \"/x\"}, \"s\": {\"systemd\": \"jira-token\"},"
	    "\"c\": {\"command\": [\"/usr/bin/pass\", \"show\", \"x\"]}", "\"one\": { " CMD
	    ", // end\n\"credential\": \"c\", \"credential_fd\": 3 }")) == 0, "%s", err.text);
	ck_assert_uint_eq(conf.sources.ncredentials, 3);
	ck_assert_str_eq(sources_credential(&conf.sources, "f")->at, "/x");
	ck_assert_int_eq(sources_credential(&conf.sources, "s")->kind, CREDENTIAL_SYSTEMD);
	ck_assert_uint_eq(sources_credential(&conf.sources, "c")->argv.n, 3);
	ck_assert_ptr_null(sources_credential(&conf.sources, "x"));
	g = sources_gateway(&conf.sources, "one");
	ck_assert_ptr_nonnull(g);
	ck_assert_ptr_null(sources_gateway(&conf.sources, "two"));
	/* Comments and white space are gone, but not those within strings. */
	ck_assert_str_eq(g->json, "{\"kind\":\"command\",\"tools\":{\"t\":{\"description\":"
	    "\"a  /*b*/\",\"argv\":[\"/bin/true\"]}},\"credential\":\"c\",\"credential_fd\":3}");
	config_done(&conf);
	for (size_t i = 0; i < ATS_ARRAY_LEN(bad); i++) {
		ck_assert_msg(parse(bad[i].text) == -ATS_E_CONFIG, "%s", bad[i].text);
		ck_assert_msg(strstr(err.text, bad[i].says) != NULL, "%s", err.text);
		ck_assert_msg(strncmp(err.text, "test: ", 6) == 0, "%s", err.text);
	}
}
END_TEST

#define A_COMMAND "\"gateways\":{\"a\":{\"kind\":\"command\",\"tools\":{\"x\":{" \
	"\"description\":\"x\",\"argv\":[\"/bin/true\"]}}}," \
	"\"m\":{\"kind\":\"mcp\",\"argv\":[\"/x\"]}}"

START_TEST(hooks_are_read_and_mistakes_in_them_named)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "{\"hooks\": []}", "\"hooks\" must be an object" },
		{ "{\"hooks\": {\"Pre\": []}}", "test: hooks: Pre: unknown event" },
		{ "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"agent\"}]}]}}",
		    "test: hooks.Stop[1].hooks[1]: type must be \"command\"" },
		{ "{\"workspace_hooks\": 1}", "workspace_hooks" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_msg(parse(rows[i].text) < 0, "%s is accepted", rows[i].text);
		ck_assert_msg(strstr(err.text, rows[i].says) != NULL, "%s: %s", rows[i].text,
		    err.text);
	}
	ck_assert_msg(parse("{\"hooks\": {\"Stop\": [ // of mine\n{\"hooks\": [{\"type\": "
	    "\"command\", \"command\": \"true\"}]}]}, \"workspace_hooks\": false}") == 0, "%s",
	    err.text);
	ck_assert_uint_eq(conf.hooks.n, 1);
	ck_assert_str_eq(conf.hooks.v[0].command, "true");
	ck_assert(!conf.workspace_hooks);
	config_done(&conf);
}
END_TEST

START_TEST(rules_of_permissions_are_read)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "{\"permissions\":{\"deny\":[\"Bash\",\"Bash(rm\"]}}",
		    "\"permissions.deny\": entry 2: \"Bash(rm\" has no )" },
		{ "{\"permissions\":{\"ask\":[\"Write(x)\"]}}", "write Edit(" },
		{ "{\"permissions\":{\"allow\":[\"\"]}}", "entry 1" },
		{ "{\"permissions\":{\"allow\":\"Bash\"}}", "permissions.allow" },
		{ "{\"permissions\":{\"gateway_default\":\"reads\"}}",
		    "\"permissions.gateway_default\" must be allow_reads, ask, deny or allow" },
		{ "{\"permissions\":{\"denied\":[]}}", "permissions.denied" },
		{ "{\"permissions\":{\"deny\":[\"nobody__*\"]}}", "the gateway nobody, which is "
		    "not in" },
		{ "{\"permissions\":{\"deny\":[\"a__*\",\"a__y\"]}," A_COMMAND "}",
		    "\"a__y\" is about a tool that the gateway a does not have" },
		{ "{\"permissions\":{\"ask\":[\"mcp__ats__a__y\"]}," A_COMMAND "}",
		    "the gateway a does not have" },
	};
	enum policy_effect effect = POLICY_NONE;

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		ck_assert_int_lt(parse(rows[i].text), 0);
		ck_assert_msg(strstr(err.text, rows[i].why) != NULL, "%s: %s", rows[i].text,
		    err.text);
	}
	ck_assert_msg(parse("{\"permissions\":{\"deny\":[\"a__x\",\"mcp__ats__a__x\",\"a__*\","
	    "\"m__y\"]}," A_COMMAND "}") == 0, "%s", err.text);
	config_done(&conf);
	ck_assert_msg(parse(NULL) == 0, "%s", err.text);
	ck_assert_uint_eq(policy_rules_count(conf.rules), 0);
	ck_assert_int_eq(conf.gateway_policy, POLICY_ALLOW_READS);
	config_done(&conf);
	ck_assert_msg(parse("{\"permissions\":{\"allow\":[\"Bash(ls:*)\"],\"deny\":[\"Bash(rm:*"
	    ")\"],"
			    "\"gateway_default\":\"deny\"}}") == 0, "%s", err.text);
	ck_assert_str_eq(policy_rules_text(conf.rules, 0, &effect), "Bash(rm:*)");
	ck_assert_int_eq(effect, POLICY_DENY);
	ck_assert_uint_eq(policy_rules_count(conf.rules), 2);
	ck_assert_int_eq(conf.gateway_policy, POLICY_DEFAULT_DENY);
	config_done(&conf);
}
END_TEST

/* A setting of the engine has its limits in two tables; they must say the same. */
START_TEST(engine_rows_agree_with_the_engines_own_table)
{
	static const struct {
		const char *name;
		uint64_t def, min, max;
	} engine[] = {
#define SETTING(sname, sdef, smin, smax, doc) { #sname, (sdef), (smin), (smax) },
#include "brain/engine/settings.def"
#undef SETTING
	};
	static const struct {
		const char *key, *wire;
		uint64_t def, min, max;
		unsigned who;
	} rows[] = {
#define VAULT 1u
#define ENGINE 2u
#define HANDS 4u
#define CONF(key, member, type, def, min, max, text, who, wire, doc)                     \
	{ (key), (wire), (def), (min), (max), (who) },
#include "brain/config.def"
#undef CONF
#undef VAULT
#undef ENGINE
#undef HANDS
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		/* The two that are words. */
		bool found = (rows[i].who & 2) == 0 || strcmp(rows[i].wire, "log_level") == 0 ||
		    strcmp(rows[i].wire, "sandbox_url") == 0;

		for (size_t k = 0; k < ATS_ARRAY_LEN(engine); k++) {
			if ((rows[i].who & 2) == 0 || strcmp(rows[i].wire, engine[k].name) != 0)
				continue;
			found = true;
			ck_assert_msg(rows[i].def == engine[k].def, "%s: default", rows[i].key);
			ck_assert_msg(rows[i].min == engine[k].min, "%s: minimum", rows[i].key);
			ck_assert_msg(rows[i].max == engine[k].max, "%s: maximum", rows[i].key);
		}
		ck_assert_msg(found, "%s: the engine has no %s", rows[i].key, rows[i].wire);
	}
}
END_TEST

ATS_UNIT_MAIN("config", defaults_are_passed_to_whom_they_concern,
    values_and_lists_are_passed_on, wrong_entries_are_named, mistakes_are_named,
    sandboxes_elsewhere, sandboxes_over_a_network, sandboxes_of_scripts,
    what_is_no_sandbox_elsewhere, gateways_and_their_credentials,
    hooks_are_read_and_mistakes_in_them_named, rules_of_permissions_are_read,
    engine_rows_agree_with_the_engines_own_table)
