/* SPDX-License-Identifier: Apache-2.0
 *
 * Canonical JSON. Input: which allocation fails, then the text. What has a canonical form is
 * strict JSON of the same values, and so is the form: it is its own, and
 * json-c reads the same from both. */
#include "brain/policy/canon.h"
#include "common/json.h"
#include "tests/fuzz/fuzz.h"

#include <json-c/json.h>

static struct json_object *
tree(const char *s, size_t n)
{
	struct json_tokener *t = json_tokener_new_ex(2 * ATS_JSON_DEPTH);
	struct json_object *o;
	char *copy = malloc(n + 1);

	FUZZ_CHECK(t != NULL && copy != NULL);
	memcpy(copy, s, n);
	copy[n] = '\0';
	o = json_tokener_parse_ex(t, copy, (int)n + 1);
	FUZZ_CHECK(json_tokener_get_error(t) == json_tokener_success);
	json_tokener_free(t);
	free(copy);
	return o;
}

/* As values: 1, 1.0 and 1e0 are one number. */
static void
same(struct json_object *a, struct json_object *b)
{
	enum json_type ta = json_object_get_type(a), tb = json_object_get_type(b);
	bool number = ta == json_type_int || ta == json_type_double;

	FUZZ_CHECK(number ? tb == json_type_int || tb == json_type_double : ta == tb);
	if (number) {
		FUZZ_CHECK(json_object_get_double(a) == json_object_get_double(b));
	} else if (ta == json_type_string) {
		FUZZ_CHECK(json_object_get_string_len(a) == json_object_get_string_len(b));
		FUZZ_CHECK(memcmp(json_object_get_string(a), json_object_get_string(b),
			       (size_t)json_object_get_string_len(a)) == 0);
	} else if (ta == json_type_boolean) {
		FUZZ_CHECK(json_object_get_boolean(a) == json_object_get_boolean(b));
	} else if (ta == json_type_array) {
		FUZZ_CHECK(json_object_array_length(a) == json_object_array_length(b));
		for (size_t i = 0; i < json_object_array_length(a); i++)
			same(json_object_array_get_idx(a, i), json_object_array_get_idx(b, i));
	} else if (ta == json_type_object) {
		FUZZ_CHECK(json_object_object_length(a) == json_object_object_length(b));
		json_object_object_foreach(a, key, value)
		{
			struct json_object *other = NULL;

			FUZZ_CHECK(json_object_object_get_ex(b, key, &other));
			same(value, other);
		}
	}
}

/* json-c cuts names at a NUL: two of them can be one there. */
static bool
has_nul(const char *s, size_t n)
{
	return memmem(s, n, "\\u0000", 6) != NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in);
	struct ats_slice s = fuzz_bytes(&in, in.n);
	char *copy = fuzz_copy(s), first[ATS_SHA256_HEX], second[ATS_SHA256_HEX];
	struct ats_err err = { .text = "" };
	struct ats_buf once, twice;
	int rc;

	ats_buf_init(&once, 4 * POLICY_CANON_MAX);
	ats_buf_init(&twice, 4 * POLICY_CANON_MAX);
	ats_fault_alloc(fault);
	rc = policy_canon((struct ats_slice){ copy, s.n }, &once, &err);
	ats_fault_alloc(0);
	if (rc == -ATS_E_NOMEM) {
		FUZZ_CHECK(fault != 0 && once.len == 0);
		rc = policy_canon((struct ats_slice){ copy, s.n }, &once, &err);
	}
	if (rc < 0) {
		FUZZ_CHECK(rc == -ATS_E_JSON || rc == -ATS_E_UTF8 || rc == -ATS_E_TOOBIG);
		FUZZ_CHECK(once.len == 0 && err.text[0] != '\0');
	} else {
		FUZZ_CHECK(ats_json_scan(copy, s.n, NULL) == 0);
		FUZZ_CHECK(once.len > 0 && once.len <= POLICY_CANON_MAX);
		FUZZ_CHECK(policy_canon((struct ats_slice){ once.data, once.len }, &twice,
			       &err) == 0);
		FUZZ_CHECK(fuzz_same(&once, &twice));
		policy_sha256((struct ats_slice){ once.data, once.len }, first);
		policy_sha256((struct ats_slice){ twice.data, twice.len }, second);
		FUZZ_CHECK(strcmp(first, second) == 0);
		if (!has_nul(once.data, once.len)) {
			struct json_object *a = tree(copy, s.n), *b = tree(once.data, once.len);

			same(a, b);
			json_object_put(a);
			json_object_put(b);
		}
	}
	ats_buf_done(&once);
	ats_buf_done(&twice);
	free(copy);
	return 0;
}
