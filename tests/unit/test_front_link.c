/* SPDX-License-Identifier: Apache-2.0
 *
 * front's link: frames that break rules, other attachments, the self-test, noise. */
#include "hands/front/front.h"

#include "tests/lib/front_rig.h"

/* ---- hostile peers ----------------------------------------------------------------- */
START_TEST(frames_that_break_a_rule_close_with_its_code_and_hands_lives)
{
	static const struct {
		enum ats_frame_id id;
		const char *json, *code;
		size_t payload;
	} rows[] = {
		{ ATS_FRAME_CALL_TOOL, "{", "bad_json", 0 },
		{ ATS_FRAME_CALL_TOOL, "{}", "bad_field", 0 },
		{ ATS_FRAME_PING, "{\"seq\":1,\"seq\":2}", NULL, 0 },
		{ ATS_FRAME_PING, "{\"seq\":-1}", "bad_field", 0 },
		{ ATS_FRAME_PING, "{\"seq\":1}", NULL, 9 },
		{ ATS_FRAME_RESULT, "{\"outcome\":\"done\"}", NULL, 0 },
		{ ATS_FRAME_READY, "{\"confinement\":{}}", NULL, 0 },
		{ ATS_FRAME_HELLO, "{}", NULL, 0 },
		{ ATS_FRAME_WINDOW, "{\"stream\":\"stdin\",\"bytes\":1}", "bad_field",
		    0 },
	};

	struct rig *r = rig_new(true);

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct frame fr;
		int rc = 0;

		send_frame(r, rows[i].id, 1, rows[i].json, "xxxxxxxxxx", rows[i].payload);
		if (rows[i].code != NULL)
			expect_closed(r, rows[i].code);
		for (int k = 0; k < 200 && rc >= 0; k++)
			rc = next_frame(r, &fr);
		ck_assert_msg(rc == -1, "row %zu was not closed", i);
		reconnect(r);
		attach(r);
		send_frame(r, ATS_FRAME_PING, 0, "{\"seq\":5}", NULL, 0);
		expect(r, ATS_FRAME_PONG, 0, &fr);
	}
	rig_free(r);
}
END_TEST

START_TEST(bytes_that_are_no_frame_close_with_a_code)
{
	struct rig *r = rig_new(true);

	ck_assert_int_eq(
	    ats_fd_write_all(r->brain, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27), 0);
	turn(r);
	for (int i = 0; i < 10; i++)
		turn(r);
	expect_closed(r, "too_big");
	reconnect(r);
	attach(r);
	rig_free(r);
}
END_TEST

START_TEST(call_before_ready_is_out_of_state)
{
	struct rig *r = rig_new(false);
	struct frame fr;

	expect(r, ATS_FRAME_HELLO, 0, &fr);
	call_tool(r, 1, "Read", "{\"file_path\":\"a\"}", "");
	expect_closed(r, "out_of_state");
	rig_free(r);
}
END_TEST

START_TEST(hello_of_another_release_is_refused_and_says_what_to_do)
{
	static const struct {
		int min, max;
		const char *digest, *text;
	} rows[] = {
		{ 2, 3, NULL, "hands speaks version 1, brain 2 to 3: install both of one release" },
		{ 1, 1, "x", "were built from different tables: install both of one release" },
	};
	struct frame fr;
	char json[512];

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		struct rig *r = rig_new(false);

		expect(r, ATS_FRAME_HELLO, 0, &fr);
		(void)snprintf(json, sizeof(json),
		    "{\"version_min\":%d,\"version_max\":%d,\"digest\":\"%s\","
		    "\"role\":\"brain\",\"epoch\":1}",
		    rows[i].min, rows[i].max,
		    rows[i].digest == NULL ? ats_proto_digest() : rows[i].digest);
		send_frame(r, ATS_FRAME_HELLO, 0, json, NULL, 0);
		expect(r, ATS_FRAME_GOODBYE, 0, &fr);
		ck_assert_msg(strstr(fr.json, "\"code\":\"version\"") != NULL, "%s", fr.json);
		ck_assert_msg(strstr(fr.json, rows[i].text) != NULL, "%s", fr.json);
		rig_free(r);
	}
}
END_TEST

/* ---- noise ------------------------------------------------------------------------- */
static unsigned noise_state;

static unsigned
noise(unsigned below)
{
	noise_state = noise_state * 1103515245 + 12345;
	return (noise_state >> 16 & 0x7fff) % below;
}

/* As reply, to a front that may have let go already. */
static void
noisy_reply(
    struct fake_worker *w, uint32_t what, const char *json, const void *payload, size_t n)
{
	static char data[8192];
	struct reply_head h = {
		.what = what,
		.json_len = (uint32_t)strlen(json),
		.payload_len = (uint32_t)n,
	};

	memcpy(data, &h, sizeof(h));
	memcpy(data + sizeof(h), json, h.json_len);
	memcpy(data + sizeof(h) + h.json_len, payload, n);
	(void)!send(w->sock, data, sizeof(h) + h.json_len + n, MSG_NOSIGNAL);
}

/* Workers that answer, lie, babble or die; those that front let go of end. */
static void
noisy_workers(struct rig *r)
{
	static const char *const answers[] = { "{\"outcome\":\"done\"}", "{}",
		"{\"outcome\":", "{\"outcome\":\"done\",\"blocks\":[{\"len\":3}]}",
		"{\"outcome\":\"not_started\",\"is_error\":true}" };
	struct job_exit e = { .status = 1 << 8, .cwd = "/ws" };
	char c;

	for (unsigned i = 0; i < r->nw; i++) {
		struct fake_worker *w = &r->w[i];
		ssize_t n =
		    w->sock < 0 ? -1 : recv(w->sock, &c, 1, MSG_PEEK | MSG_DONTWAIT);

		if (n == 0 && w->sock >= 0) {
			gone(r, w, 0);
		} else if (n > 0 && !w->used) {
			w->used = true;
			if (w->out >= 0)
				(void)!write(w->out, "noise\xe4\n", 7);
			switch (noise(5)) {
			case 0:
				gone(r, w, noise(2) ? SIGSYS : 3 << 8);
				break;
			case 1:
				if (send(w->sock, &noise_state, 1 + noise(40) % 4,
					MSG_NOSIGNAL) < 0)
					gone(r, w, 0);
				break;
			case 2:
				if (w->profile == ATS_PROFILE_SHELL)
					noisy_reply(w, REPLY_EXIT, "", &e, sizeof(e));
				break;
			default:
				noisy_reply(
				    w, 1 + noise(4), answers[noise(5)], "abc", noise(4));
			}
		}
	}
}

static void
noisy_frame(struct rig *r)
{
	static const struct {
		enum ats_frame_id id;
		const char *json;
	} rows[] = {
		{ ATS_FRAME_CALL_TOOL,
		    "{\"name\":\"Read\",\"input\":{\"file_path\":\"a\"},"
		    "\"ctx\":" CTX ",\"deadline_ms\":50,\"session\":\"s-1\"}" },
		{ ATS_FRAME_CALL_TOOL,
		    "{\"name\":\"Bash\",\"input\":{\"command\":\"a\"},"
		    "\"ctx\":" CTX
		    ",\"deadline_ms\":50,\"session\":\"s-1\",\"keep\":true}" },
		{ ATS_FRAME_CALL_TOOL,
		    "{\"name\":\"Bash\",\"input\":{\"command\":\"a\","
		    "\"run_in_background\":true},\"ctx\":" CTX ",\"deadline_ms\":50,"
		    "\"session\":\"s-1\"}" },
		{ ATS_FRAME_CALL_TOOL,
		    "{\"name\":\"BashOutput\",\"input\":{\"bash_id\":\"bash_1\","
		    "\"filter\":\"a\"},\"ctx\":" CTX
		    ",\"deadline_ms\":50,\"session\":\"s-1\"}" },
		{ ATS_FRAME_CALL_TOOL,
		    "{\"name\":\"KillShell\",\"input\":{\"shell_id\":\"bash_1\"},"
		    "\"ctx\":" CTX ",\"deadline_ms\":50,\"session\":\"s-1\"}" },
		{ ATS_FRAME_CALL_EXEC,
		    "{\"argv\":[\"a\"],\"ctx\":" CTX ",\"session\":\"s-1\","
		    "\"window\":3,\"want_stdin\":true}" },
		{ ATS_FRAME_EVENT_STDIN, "{\"offset\":0}" },
		{ ATS_FRAME_WINDOW, "{\"stream\":\"stdout\",\"bytes\":5}" },
		{ ATS_FRAME_CANCEL, "{}" },
		{ ATS_FRAME_ACK, "{}" },
		{ ATS_FRAME_SIGNAL, "{\"number\":2}" },
	};
	unsigned k = noise(ATS_ARRAY_LEN(rows));
	const struct ats_frame_row *row = &ats_frame_rows[rows[k].id];
	struct ats_frame_head h = { .type = row->type,
		.kind = row->kind,
		.call = 1 + noise(12),
		.json_len = (uint32_t)strlen(rows[k].json) };
	size_t payload = rows[k].id == ATS_FRAME_EVENT_STDIN ? noise(9) : 0, size;
	unsigned char frame[2048] = "";

	size = ATS_FRAME_HEAD + h.json_len + payload;
	h.len = (uint32_t)size;
	ats_frame_head_put(&h, frame);
	memcpy(frame + ATS_FRAME_HEAD, rows[k].json, h.json_len);
	if (noise(12) == 0)
		frame[noise((unsigned)size)] = (unsigned char)noise(256);
	(void)!send(r->brain, frame, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

START_TEST(noise_from_both_sides_leaves_front_working)
{
	static struct frame fr;
	struct rig *r = rig_new(true);

	for (unsigned seed = 1; seed <= 400; seed++) {
		int rc = 0;

		noise_state = seed;
		for (unsigned i = noise(10); i > 0; i--)
			noisy_frame(r);
		for (unsigned i = 0; i < 6; i++) {
			turn(r);
			noisy_workers(r);
		}
		for (unsigned i = 0; i < 50 && rc >= 0; i++)
			rc = next_frame(r, &fr);
		if (rc < 0 || noise(4) == 0) {
			reconnect(r);
			attach(r);
		}
	}
	reconnect(r);
	attach(r);
	send_frame(r, ATS_FRAME_PING, 0, "{\"seq\":5}", NULL, 0);
	expect(r, ATS_FRAME_PONG, 0, &fr);
	rig_free(r);
}
END_TEST

START_TEST(second_attachment_is_told_busy)
{
	struct rig *r = rig_new(true);
	struct frame fr;
	int first = r->brain;

	r->brain = -1;
	reconnect(r);
	say_hello(r);
	expect_closed(r, "busy");
	ats_fd_close(&r->brain);
	r->brain = first;
	r->have = 0;
	send_frame(r, ATS_FRAME_PING, 0, "{\"seq\":5}", NULL, 0);
	expect(r, ATS_FRAME_PONG, 0, &fr);
	rig_free(r);
}
END_TEST

/* A box that cannot show that it holds takes no call: it says why and ends. One worker's bad
 * word is enough, whichever profile it has. */
static void
check_refused(unsigned bad, const char *report, const char *said)
{
	static const char fine[] = "{\"verified\":true}";
	struct rig *r = rig_new(false);
	struct frame fr;

	for (unsigned i = 0; i < ATS_ARRAY_LEN(r->tester); i++) {
		const char *text = i == bad ? report : fine;

		reply(r->tester[i], REPLY_RESULT, "{\"outcome\":\"done\"}", text, strlen(text));
		gone(r, r->tester[i], 0);
	}
	say_hello(r);
	expect(r, ATS_FRAME_GOODBYE, 0, &fr);
	ck_assert_msg(strstr(fr.json, "confinement_failed") != NULL &&
	    strstr(fr.json, said) != NULL, "%s", fr.json);
	ck_assert(r->f.unconfined);
	rig_free(r);
}

START_TEST(self_test_that_fails_is_the_end)
{
	static const char *const reports[] = { "{\"level\":\"test\",\"verified\":false}",
		"{\"level\":\"test\"}", "[true]", "no json" };

	for (unsigned i = 0; i < ATS_ARRAY_LEN(reports); i++)
		for (unsigned profile = 0; profile < 3; profile++)
			check_refused(profile, reports[i], "self-test");
	check_refused(1, "{\"verified\":false,\"tests\":{\"failed\":2,\"names\":\"uid,devices\"}}",
	    "write worker: uid,devices");
}
END_TEST

ATS_UNIT_MAIN("front_link", frames_that_break_a_rule_close_with_its_code_and_hands_lives,
    bytes_that_are_no_frame_close_with_a_code, call_before_ready_is_out_of_state,
    hello_of_another_release_is_refused_and_says_what_to_do, self_test_that_fails_is_the_end,
    noise_from_both_sides_leaves_front_working, second_attachment_is_told_busy)
