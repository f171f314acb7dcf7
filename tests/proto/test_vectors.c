/* SPDX-License-Identifier: Apache-2.0
 *
 * Plays the golden vectors of proto/vectors through head, gate and decoder, and checks that
 * each field of each table is in a good one and in a bad one. A vector is "key: value" lines
 * up to an empty line:
 *   vector NAME   frame TYPE KIND | shape NAME | tool NAME   from brain|hands
 *   state hello|ready   json TEXT (<c*N> stands for N times c)   json_hex HEX
 *   json_len N (only the header says so)   payload N   hex HEX (the whole frame)
 *   expect ok or a wire name of errors.def */
#include "tests/lib/unit.h"

#include <stddef.h>
#include <stdio.h>

#include "proto/hooks.h"
#include "proto/tools.h"

#define TEXT_MAX (32u << 20)
#define COVER_MAX 512

struct vector {
	char file[300], name[64], expect[32], object[64];
	char kind;			/* f frame, s shape, t tool, h whole frame in hex */
	unsigned type, frame_kind;
	enum ats_from from;
	enum ats_state state;
	struct ats_buf json;
	uint32_t json_len, payload;
	bool has_json_len;
};

/* "shape.field" of what was seen */
static char seen[2][COVER_MAX][64];
static size_t nseen[2];

static void
cover(int good, const char *shape, const char *field, size_t n)
{
	char entry[64];
	size_t i;

	(void)snprintf(entry, sizeof(entry), "%s.%.*s", shape, (int)n, field);
	for (i = 0; i < nseen[good]; i++) {
		if (strcmp(seen[good][i], entry) == 0)
			return;
	}
	ck_assert_uint_lt(nseen[good], COVER_MAX);
	memcpy(seen[good][nseen[good]++], entry, sizeof(entry));
}

static bool
covered(int good, const char *shape, const char *field)
{
	size_t before = nseen[good];

	cover(good, shape, field, strlen(field));
	if (nseen[good] == before)
		return true;
	nseen[good]--;
	return false;
}

/* ---- one vector ---------------------------------------------------------------------- */
static void
add_hex(struct ats_buf *b, const char *hex)
{
	unsigned byte;

	for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
		ck_assert_int_eq(sscanf(hex, "%2x", &byte), 1);
		ck_assert_int_eq(ats_buf_add_char(b, (char)byte), 0);
	}
}

static void
add_json(struct ats_buf *b, const char *text)
{
	unsigned long n;
	char c, *to;
	int used;

	while (*text != '\0') {
		used = 0;
		if (*text == '<' && sscanf(text, "<%c*%lu>%n", &c, &n, &used) == 2 && used > 0) {
			ck_assert_int_eq(ats_buf_reserve(b, n, &to), 0);
			memset(to, c, n);
			ats_buf_commit(b, n);
			text += used;
		} else {
			ck_assert_int_eq(ats_buf_add_char(b, *text++), 0);
		}
	}
}

static const struct ats_shape *
shape_of(const struct vector *v, const struct ats_frame_row *row)
{
	size_t i;

	if (row != NULL)
		return &row->shape;
	if (v->kind == 't')
		return &ats_tool_find(v->object)->input;
	for (i = 0; ats_ctx_shapes[i] != NULL; i++) {
		if (strcmp(ats_ctx_shapes[i]->name, v->object) == 0)
			return ats_ctx_shapes[i];
	}
	for (i = 0; ats_hook_shapes[i] != NULL; i++) {
		if (strcmp(ats_hook_shapes[i]->name, v->object) == 0)
			return ats_hook_shapes[i];
	}
	ck_abort_msg("%s: %s: no such shape", v->file, v->object);
	return NULL;
}

/* What is said back is what was understood, and it stays so. */
static void
check_round_trip(const struct vector *v, const struct ats_shape *shape, const void *msg)
{
	static max_align_t again[128];
	struct ats_buf one, two, arena;

	ats_buf_init(&one, TEXT_MAX);
	ats_buf_init(&two, TEXT_MAX);
	ats_buf_init(&arena, TEXT_MAX);
	ck_assert_msg(ats_msg_encode(shape, msg, &one, NULL) == 0, "%s %s", v->file, v->name);
	ck_assert_int_eq(ats_msg_decode(shape, one.data, one.len, 0, again, &arena, NULL), 0);
	ck_assert_int_eq(ats_msg_encode(shape, again, &two, NULL), 0);
	ck_assert_msg(one.len == two.len && memcmp(one.data, two.data, one.len) == 0, "%s %s",
	    v->file, v->name);
	ats_buf_done(&one);
	ats_buf_done(&two);
	ats_buf_done(&arena);
}

static void
cover_members(const struct ats_shape *shape, struct ats_slice json)
{
	struct ats_json_iter it;
	struct ats_json_val val;
	struct ats_slice key;

	ats_json_iter_init(&it, ats_json_value(json).raw);
	while (ats_json_next(&it, &key, &val))
		cover(1, shape->name, key.p, key.n);
}

static int
decode_object(const struct vector *v, const struct ats_frame_row *row, struct ats_slice json,
    struct ats_err *err)
{
	static max_align_t msg[128];
	const struct ats_shape *shape = shape_of(v, row);
	struct ats_buf arena;
	int rc;

	ck_assert_uint_le(shape->size, sizeof(msg));
	ats_buf_init(&arena, TEXT_MAX);
	if (v->kind == 't')
		rc = ats_tool_input(ats_tool_find(v->object), json.p, json.n, msg, &arena, err);
	else
		rc = ats_msg_decode(shape, json.p, json.n, 0, msg, &arena, err);
	if (rc == 0) {
		check_round_trip(v, shape, msg);
		cover_members(shape, json);
	} else if (rc == -ATS_E_FIELD) {
		cover(0, shape->name, err->text, strcspn(err->text, ":"));
	}
	ats_buf_done(&arena);
	return rc;
}

static int
play_frame(const struct vector *v, struct ats_err *err)
{
	unsigned char head[ATS_FRAME_HEAD];
	struct ats_frame_head h = { .type = (uint8_t)v->type, .kind = (uint8_t)v->frame_kind,
		.call = 1 };
	struct ats_slice json = { .p = v->json.data, .n = v->json.len };
	int rc;

	if (v->kind == 'h') {
		ck_assert_uint_ge(v->json.len, sizeof(head));
		memcpy(head, v->json.data, sizeof(head));
		json.p += sizeof(head);
		json.n -= sizeof(head);
	} else {
		h.json_len = v->has_json_len ? v->json_len : (uint32_t)v->json.len;
		h.payload_len = v->payload;
		h.len = ATS_FRAME_HEAD + h.json_len + h.payload_len;
		ats_frame_head_put(&h, head);
	}
	rc = ats_frame_head_get(head, &h, err);
	if (rc == 0)
		rc = ats_frame_gate(&h, v->from, v->state, err);
	if (rc < 0)
		return rc;
	ck_assert_uint_eq(h.json_len, json.n);
	return decode_object(v, ats_frame_row_find(h.type, h.kind), json, err);
}

static void
play(const struct vector *v)
{
	struct ats_slice json = { .p = v->json.data, .n = v->json.len };
	struct ats_err err = { 0 };
	int rc;

	if (v->kind == 'f' || v->kind == 'h')
		rc = play_frame(v, &err);
	else
		rc = decode_object(v, NULL, json, &err);
	ck_assert_msg(strcmp(v->expect, rc == 0 ? "ok" : ats_err_name(rc)) == 0,
	    "%s: %s: expected %s, got %s (%s)", v->file, v->name, v->expect,
	    rc == 0 ? "ok" : ats_err_name(rc), err.text);
}

/* ---- files ----------------------------------------------------------------------------- */
static void
take_line(struct vector *v, const char *key, const char *value)
{
	if (strcmp(key, "vector") == 0) {
		(void)snprintf(v->name, sizeof(v->name), "%s", value);
	} else if (strcmp(key, "frame") == 0) {
		v->kind = 'f';
		ck_assert_int_eq(sscanf(value, "%u %u", &v->type, &v->frame_kind), 2);
	} else if (strcmp(key, "shape") == 0 || strcmp(key, "tool") == 0) {
		v->kind = key[0];
		(void)snprintf(v->object, sizeof(v->object), "%s", value);
	} else if (strcmp(key, "from") == 0) {
		v->from = value[0] == 'b' ? ATS_FROM_BRAIN : ATS_FROM_HANDS;
	} else if (strcmp(key, "state") == 0) {
		v->state = value[0] == 'h' ? ATS_STATE_HELLO : ATS_STATE_READY;
	} else if (strcmp(key, "json") == 0) {
		add_json(&v->json, value);
	} else if (strcmp(key, "json_hex") == 0) {
		add_hex(&v->json, value);
	} else if (strcmp(key, "hex") == 0) {
		v->kind = 'h';
		add_hex(&v->json, value);
	} else if (strcmp(key, "json_len") == 0) {
		v->has_json_len = true;
		v->json_len = (uint32_t)strtoul(value, NULL, 10);
	} else if (strcmp(key, "payload") == 0) {
		v->payload = (uint32_t)strtoul(value, NULL, 10);
	} else if (strcmp(key, "expect") == 0) {
		(void)snprintf(v->expect, sizeof(v->expect), "%s", value);
	} else {
		ck_abort_msg("%s: unknown key %s", v->file, key);
	}
}

static unsigned
play_file(const char *path)
{
	struct vector v = { .kind = 0 };
	char *line = NULL, *value;
	size_t size = 0;
	ssize_t n;
	unsigned played = 0;
	FILE *f = fopen(path, "re");

	ck_assert_msg(f != NULL, "%s", path);
	do {
		n = getline(&line, &size, f);
		if (n > 0 && line[n - 1] == '\n')
			line[--n] = '\0';
		if (n > 0 && line[0] != '#') {
			value = strstr(line, ": ");
			ck_assert_msg(value != NULL, "%s: %s", path, line);
			*value = '\0';
			if (v.kind == 0 && v.name[0] == '\0') {
				(void)snprintf(v.file, sizeof(v.file), "%s", path);
				ats_buf_init(&v.json, TEXT_MAX);
			}
			take_line(&v, line, value + 2);
		} else if (v.name[0] != '\0') {
			play(&v);
			played++;
			ats_buf_done(&v.json);
			v = (struct vector){ .kind = 0 };
		}
	} while (n >= 0);
	free(line);
	(void)fclose(f);
	return played;
}

static unsigned
play_directory(const char *dir)
{
	struct dirent **list;
	char path[300];
	unsigned played = 0;
	int i, n = scandir(dir, &list, NULL, alphasort);

	ck_assert_msg(n > 2, "%s: run from the top of the tree", dir);
	for (i = 0; i < n; i++) {
		if (strstr(list[i]->d_name, ".txt") != NULL) {
			(void)snprintf(path, sizeof(path), "%s/%s", dir, list[i]->d_name);
			played += play_file(path);
		}
		free(list[i]);
	}
	free(list);
	return played;
}

static void
check_cover(const struct ats_shape *s)
{
	size_t i;

	for (i = 0; i < s->nfields; i++) {
		ck_assert_msg(covered(1, s->name, s->fields[i].name),
		    "%s.%s: no vector in proto/vectors/good has it", s->name, s->fields[i].name);
		ck_assert_msg(covered(0, s->name, s->fields[i].name),
		    "%s.%s: no vector in proto/vectors/bad is refused for it", s->name,
		    s->fields[i].name);
	}
}

START_TEST(good_vectors_decode_and_encode_back)
{
	ck_assert_uint_gt(play_directory("proto/vectors/good"), ATS_FRAME_COUNT);
}
END_TEST

START_TEST(bad_vectors_are_refused_with_their_code)
{
	ck_assert_uint_gt(play_directory("proto/vectors/bad"), 3u * ATS_FRAME_COUNT);
}
END_TEST

START_TEST(every_field_has_a_good_and_a_bad_vector)
{
	size_t i;

	(void)play_directory("proto/vectors/good");
	(void)play_directory("proto/vectors/bad");
	for (i = 0; i < ATS_FRAME_COUNT; i++)
		check_cover(&ats_frame_rows[i].shape);
	for (i = 0; ats_ctx_shapes[i] != NULL; i++)
		check_cover(ats_ctx_shapes[i]);
	for (i = 0; ats_hook_shapes[i] != NULL; i++)
		check_cover(ats_hook_shapes[i]);
	for (i = 0; i < ATS_TOOL_COUNT; i++)
		check_cover(&ats_tool_rows[i].input);
}
END_TEST

ATS_UNIT_MAIN("vectors", good_vectors_decode_and_encode_back,
    bad_vectors_are_refused_with_their_code, every_field_has_a_good_and_a_bad_vector)
