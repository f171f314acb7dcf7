/* SPDX-License-Identifier: Apache-2.0
 *
 * Tools of the host in front: a scripted brain on one side, programs of the sandbox on the other.
 * (With real ones: tests/system/0553-hands-tools.py.) */
#include "hands/front/delivery.h"
#include "hands/front/gateway.h"

#include "tests/lib/front_rig.h"

#define TOOLS "{\"tools\":[{\"name\":\"gh__x\",\"description\":\"d\",\"inputSchema\":{}}]}"
#define NO_TOOLS "{\"tools\":[]}"
#define ASK "{\"name\":\"gh__x\",\"input\":{\"a\":1},\"key\":\"k\"}"

static char relay_path[128];

static struct rig *
begin(bool ready)
{
	struct rig *r = rig_new(ready);
	int fd = -1, dir = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)snprintf(relay_path, sizeof(relay_path), "%.60s/relay.sock", r->dir);
	ck_assert_int_eq(ats_fd_unix_listen(relay_path, SOCK_STREAM, 0600, &fd, NULL), 0);
	r->f.opt.tools = r->dir;
	r->f.opt.hands = "/bin/ats-hands";
	r->f.opt.peers[0] = r->f.opt.peers[1] = getuid();
	r->f.delivery = delivery_new(&r->f, dir, true);
	r->f.gateway = gateway_new(&r->f, fd);
	ck_assert(r->f.delivery != NULL && r->f.gateway != NULL);
	return r;
}

static void
finish(struct rig *r)
{
	gateway_free(r->f.gateway);
	r->f.gateway = NULL;
	delivery_free(r->f.delivery);
	rig_free(r);
}

/* A rig whose brain's end is this socket: what reads and writes frames does so there. */
static void
on_behalf(struct rig *r, int sock, int *brain, size_t *have)
{
	*brain = r->brain;
	*have = r->have;
	r->brain = sock;
	r->have = 0;
}

static int
peer_new(struct rig *r)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%.107s", relay_path);
	ck_assert_int_eq(connect(sock, (struct sockaddr *)&a, sizeof(a)), 0);
	turn(r);
	return sock;
}

static void
peer_says(struct rig *r, int sock, enum ats_frame_id id, uint64_t call, const char *json)
{
	int brain;
	size_t have;

	on_behalf(r, sock, &brain, &have);
	send_frame(r, id, call, json, NULL, 0);
	r->brain = brain;
	r->have = have;
}

static void
peer_hears(struct rig *r, int sock, enum ats_frame_id id, uint64_t call, struct frame *ret)
{
	int brain;
	size_t have;

	on_behalf(r, sock, &brain, &have);
	expect(r, id, call, ret);
	ck_assert_uint_eq(r->have, 0);
	r->brain = brain;
	r->have = have;
}

static void
peer_ended(struct rig *r, int sock)
{
	char c;

	for (int i = 0; i < 20; i++)
		turn(r);
	ck_assert_int_le(recv(sock, &c, 1, MSG_DONTWAIT), 0);
	(void)close(sock);
}

static bool
has_file(const struct rig *r, const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%.60s/%s", r->dir, name);
	return access(path, F_OK) == 0;
}

START_TEST(a_call_goes_to_brain_under_its_own_id_and_key)
{
	struct rig *r = begin(true);
	int one = peer_new(r), two = peer_new(r);
	struct frame fr;

	peer_says(r, one, ATS_FRAME_CALL_GATEWAY, 7, ASK);
	peer_says(r, two, ATS_FRAME_CALL_GATEWAY, 7,
	    "{\"name\":\"gh__x\",\"input\":{},\"key\":\"k\",\"session\":\"" SESSION "\","
	    "\"progress\":true,\"deadline_ms\":5000}");
	expect(r, ATS_FRAME_CALL_GATEWAY, 1, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "\"input\":{\"a\":1}"));
	ck_assert_ptr_nonnull(strstr(fr.json, r->f.boot));
	ck_assert_ptr_null(strstr(fr.json, "session"));
	expect(r, ATS_FRAME_CALL_GATEWAY, 2, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "\"session\":\"" SESSION "\""));
	ck_assert_ptr_nonnull(strstr(fr.json, "\"deadline_ms\":"));
	send_frame(r, ATS_FRAME_EVENT_PROGRESS, 1, "{\"message\":\"no\"}", NULL, 0);
	send_frame(r, ATS_FRAME_EVENT_PROGRESS, 2, "{\"message\":\"half\"}", NULL, 0);
	send_frame(r, ATS_FRAME_RESULT, 2, "{\"outcome\":\"done\"}", "two", 3);
	send_frame(r, ATS_FRAME_RESULT, 1, "{\"outcome\":\"unknown\",\"is_error\":true}", "one", 3);
	peer_hears(r, one, ATS_FRAME_RESULT, 7, &fr);
	ck_assert_str_eq(fr.payload, "one");
	(void)close(one);
	(void)close(two);
	turn(r);
	finish(r);
}
END_TEST

START_TEST(without_a_link_a_call_waits_for_it)
{
	struct rig *r = begin(true);
	int p = peer_new(r);
	struct frame fr;
	char key[4096];

	ats_fd_close(&r->brain);
	turn(r);
	peer_says(r, p, ATS_FRAME_CALL_GATEWAY, 1, ASK);
	peer_says(r, p, ATS_FRAME_CALL_GATEWAY, 2, ASK);
	peer_says(r, p, ATS_FRAME_CANCEL, 2, "{}");
	peer_hears(r, p, ATS_FRAME_RESULT, 2, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "\"outcome\":\"not_started\""));
	reconnect(r);
	attach(r);
	expect(r, ATS_FRAME_CALL_GATEWAY, 1, &fr);
	(void)strcpy(key, strstr(fr.json, "\"key\""));
	peer_says(r, p, ATS_FRAME_CALL_GATEWAY, 3, ASK);
	expect(r, ATS_FRAME_CALL_GATEWAY, 3, &fr);
	ats_fd_close(&r->brain);
	turn(r);
	peer_says(r, p, ATS_FRAME_CANCEL, 3, "{}");
	peer_hears(r, p, ATS_FRAME_RESULT, 3, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "\"outcome\":\"unknown\""));
	ck_assert_ptr_nonnull(strstr(fr.json, "\"code\":\"cancelled\""));
	reconnect(r);
	attach(r);
	expect(r, ATS_FRAME_CALL_GATEWAY, 1, &fr);
	ck_assert_str_eq(strstr(fr.json, "\"key\""), key);
	ck_assert_int_eq(next_frame(r, &fr), 0);
	(void)close(p);
	turn(r);
	finish(r);
}
END_TEST

START_TEST(at_the_end_who_waits_is_told)
{
	struct rig *r = begin(true);
	int p = peer_new(r);
	struct frame fr;

	peer_says(r, p, ATS_FRAME_CALL_GATEWAY, 1, ASK);
	expect(r, ATS_FRAME_CALL_GATEWAY, 1, &fr);
	gateway_free(r->f.gateway);
	r->f.gateway = NULL;
	peer_hears(r, p, ATS_FRAME_RESULT, 1, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "\"outcome\":\"unknown\""));
	ck_assert_ptr_nonnull(strstr(fr.payload, "whether the call ran is not known"));
	peer_ended(r, p);
	finish(r);
}
END_TEST

START_TEST(another_user_is_not_heard)
{
	struct rig *r = begin(true);

	r->f.opt.peers[0] = r->f.opt.peers[1] = getuid() + 1;
	peer_ended(r, peer_new(r));
	r->f.opt.peers[1] = getuid();
	(void)close(peer_new(r));
	turn(r);
	finish(r);
}
END_TEST

START_TEST(wrong_frames_cost_the_peer_its_connection_alone)
{
	static const struct {
		enum ats_frame_id id;
		uint64_t call;
		const char *json;
	} t[] = {
		{ ATS_FRAME_CALL_GATEWAY, 0, ASK },
		{ ATS_FRAME_CALL_GATEWAY, 1, "{}" },
		{ ATS_FRAME_CALL_GATEWAY, 1, "{\"name\":\"a\\u0000\",\"input\":{},\"key\":\"k\"}" },
		{ ATS_FRAME_CALL_GATEWAY, 1, "{\"name\":\"a\",\"name\":\"b\",\"input\":{}}" },
		{ ATS_FRAME_CALL_TOOL, 1, "{}" },
		{ ATS_FRAME_RESULT, 1, "{\"outcome\":\"done\"}" },
		{ ATS_FRAME_TOOLS, 0, TOOLS },
		{ ATS_FRAME_HELLO, 0, "{}" },
		{ ATS_FRAME_PING, 0, "{\"seq\":1}" },
		{ ATS_FRAME_EVENT_STDOUT, 1, "{\"offset\":0}" },
		{ ATS_FRAME_GOODBYE, 0, "{\"code\":\"closed\"}" },
	};
	struct rig *r = begin(true);
	int good = peer_new(r), bad;
	struct frame fr;

	peer_says(r, good, ATS_FRAME_CALL_GATEWAY, 1, ASK);
	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		bad = peer_new(r);
		peer_says(r, bad, t[i].id, t[i].call, t[i].json);
		peer_ended(r, bad);
	}
	bad = peer_new(r);
	peer_says(r, bad, ATS_FRAME_CALL_GATEWAY, 5, "{\"name\":\"a\",\"input\":[],\"key\":\"k\"}");
	peer_hears(r, bad, ATS_FRAME_RESULT, 5, &fr);
	ck_assert_ptr_nonnull(strstr(fr.json, "bad_field"));
	(void)close(bad);
	send_frame(r, ATS_FRAME_RESULT, 1, "{\"outcome\":\"done\"}", "fine", 4);
	peer_hears(r, good, ATS_FRAME_RESULT, 1, &fr);
	ck_assert_str_eq(fr.payload, "fine");
	(void)close(good);
	turn(r);
	finish(r);
}
END_TEST

START_TEST(answers_to_nothing_end_the_link)
{
	struct rig *r = begin(true);

	send_frame(r, ATS_FRAME_RESULT, 1, "{\"outcome\":\"done\"}", NULL, 0);
	expect_closed(r, "out_of_state");
	finish(r);
}
END_TEST

START_TEST(files_are_there_as_long_as_tools_are)
{
	struct rig *r = begin(true);
	struct ats_buf env;
	struct frame fr;
	int p;

	ats_buf_init(&env, 4096);
	ck_assert_int_eq(delivery_env(r->f.delivery, SESSION, &env), 0);
	ck_assert_uint_eq(env.len, 0);
	send_frame(r, ATS_FRAME_TOOLS, 0, TOOLS, NULL, 0);
	ck_assert(has_file(r, "tools.json") && has_file(r, "mcp.json"));
	ck_assert(!has_file(r, "tools.json.new"));
	ck_assert_int_eq(delivery_env(r->f.delivery, SESSION, &env), 0);
	ck_assert_ptr_nonnull(memmem(env.data, env.len, "ATS_SESSION_ID=" SESSION, 30));
	p = peer_new(r);
	peer_hears(r, p, ATS_FRAME_TOOLS, 0, &fr);
	ck_assert_str_eq(fr.json, TOOLS);
	send_frame(r, ATS_FRAME_TOOLS, 0, NO_TOOLS, NULL, 0);
	peer_hears(r, p, ATS_FRAME_TOOLS, 0, &fr);
	ck_assert_str_eq(fr.json, NO_TOOLS);
	ck_assert(!has_file(r, "tools.json") && !has_file(r, "mcp.json"));
	ck_assert_ptr_null(delivery_gap(r->f.delivery));
	(void)close(p);
	turn(r);
	ats_buf_done(&env);
	finish(r);
}
END_TEST

START_TEST(what_cannot_be_delivered_is_told_once)
{
	struct rig *r = begin(true);
	char path[128];

	(void)snprintf(path, sizeof(path), "%.60s/mcp.json", r->dir);
	ck_assert_int_eq(mkdir(path, 0700), 0);	/* a rename onto it fails, and so does unlink */
	send_frame(r, ATS_FRAME_TOOLS, 0, TOOLS, NULL, 0);
	ck_assert(!has_file(r, "tools.json"));
	ck_assert_ptr_nonnull(strstr(delivery_gap(r->f.delivery), "mcp.json"));
	ck_assert_ptr_null(delivery_gap(r->f.delivery));
	ck_assert_int_eq(rmdir(path), 0);
	r->f.opt.hands = NULL;
	send_frame(r, ATS_FRAME_TOOLS, 0, TOOLS, NULL, 0);
	ck_assert_ptr_nonnull(strstr(delivery_gap(r->f.delivery), "cannot run ats-hands"));
	r->f.opt.hands = "/bin/ats-hands";
	send_frame(r, ATS_FRAME_TOOLS, 0, "{\"tools\":[{}]}", NULL, 0);
	ck_assert_ptr_nonnull(strstr(delivery_gap(r->f.delivery), "has no name"));
	send_frame(r, ATS_FRAME_TOOLS, 0, TOOLS, NULL, 0);
	ck_assert_ptr_null(delivery_gap(r->f.delivery));
	ck_assert(has_file(r, "tools.json") && has_file(r, "mcp.json"));
	finish(r);
}
END_TEST

ATS_UNIT_MAIN("front_gateway", a_call_goes_to_brain_under_its_own_id_and_key,
    without_a_link_a_call_waits_for_it, at_the_end_who_waits_is_told, another_user_is_not_heard,
    wrong_frames_cost_the_peer_its_connection_alone, answers_to_nothing_end_the_link,
    files_are_there_as_long_as_tools_are, what_cannot_be_delivered_is_told_once)
