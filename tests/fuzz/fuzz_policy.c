/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules of permissions. Input: which allocation fails, flags, a rule and its length before it,
 * then a command or a path. Whatever it is, an answer comes, and the same again; what is denied
 * alone is denied as a part of more. What is denied because it is too much to be looked at may be
 * less so as a part: the longer a command, the more of it is looked at. */
#include "brain/policy/rules.h"
#include "common/json.h"
#include "tests/fuzz/fuzz.h"

enum { FILES = 1, ARGV = 2 };

static enum policy_effect
decide(const struct policy_rules *r, const char *tool, const struct ats_buf *args,
    bool *ret_unseen)
{
	struct policy_call call = { .kind = POLICY_SANDBOX, .tool = tool,
		.args = { args->data, args->len }, .workspace = "/w", .cwd = "/w/d",
		.home = "/home/agent" };
	struct policy_decision d;

	policy_decide(r, &call, POLICY_ALLOW_READS, &d);
	FUZZ_CHECK(d.effect >= POLICY_ALLOW && d.effect <= POLICY_DENY);
	FUZZ_CHECK(d.why[0] != '\0' && strlen(d.why) < sizeof(d.why));
	FUZZ_CHECK(!d.unseen || d.rule != NULL);
	*ret_unseen = d.unseen;
	return d.effect;
}

static void
write_args(struct ats_buf *out, const char *name, const char *before, struct ats_slice s,
    const char *after)
{
	struct ats_buf text;
	struct ats_json_w w;

	ats_buf_init(&text, 1u << 20);
	FUZZ_CHECK(ats_buf_add_str(&text, before) == 0 && ats_buf_add(&text, s.p, s.n) == 0 &&
		   ats_buf_add_str(&text, after) == 0);
	ats_buf_reset(out);
	ats_json_w_init(&w, out);
	if (name != NULL)
		ats_json_w_object(&w, NULL);
	else
		ats_json_w_array(&w, NULL);
	ats_json_w_strn(&w, name, text.data, text.len);
	ats_json_w_end(&w);
	FUZZ_CHECK(w.rc == 0);
	ats_buf_done(&text);
}

/* A command that another may follow: nothing in it is open at its end. */
static bool
is_plain(struct ats_slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '\0' || strchr("\\'\"`$<(#{", s.p[i]) != NULL)
			return false;
	return true;
}

static void
check_parts(const struct policy_rules *r, struct ats_buf *args, struct ats_slice s)
{
	static const struct {
		const char *before, *after;
		bool plain;
	} rows[] = { { "echo a;", "", false }, { "echo a\n", "", false }, { "", "\necho a", true },
		{ "a=b;", ";echo a", true }, { "echo a|", "&", true } };
	bool unseen, plain = is_plain(s);

	for (size_t i = 0; i < ATS_ARRAY_LEN(rows); i++) {
		if (rows[i].plain && !plain)
			continue;
		write_args(args, "command", rows[i].before, s, rows[i].after);
		FUZZ_CHECK(decide(r, "Bash", args, &unseen) == POLICY_DENY);
	}
}

/* The same rule in the other lists, and of a gateway's tool: a decision comes, what is always
 * denied is denied, and a rule is told as it was written. */
static void
check_lists(const char *rule, const char *tool, const struct ats_buf *args, uint8_t flags)
{
	struct policy_call g = { .kind = POLICY_GATEWAY, .tool = "g__t",
		.permission = (enum policy_effect)(flags >> 2 & 3),
		.read_only = (flags & 16) != 0 };
	struct policy_decision d;
	enum policy_effect told;
	char gateway[64];
	bool unseen;

	for (int e = POLICY_ALLOW; e <= POLICY_DENY; e++) {
		struct policy_rules *r = policy_rules_new();

		FUZZ_CHECK(r != NULL);
		if (policy_rules_add(r, (enum policy_effect)e, rule, NULL) == 0) {
			FUZZ_CHECK(policy_rules_text(r, 0, &told) != NULL && (int)told == e);
			(void)policy_rules_gateway(r, 0, gateway, sizeof(gateway));
			if (policy_denies_all(r, POLICY_SANDBOX, tool))
				FUZZ_CHECK(decide(r, tool, args, &unseen) == POLICY_DENY);
			else
				(void)decide(r, tool, args, &unseen);
			policy_decide(r, &g, (enum policy_default)(flags >> 5 & 3), &d);
			FUZZ_CHECK(d.effect >= POLICY_ALLOW && d.effect <= POLICY_DENY);
			FUZZ_CHECK(!policy_denies_all(r, POLICY_GATEWAY, g.tool) ||
			    d.effect == POLICY_DENY);
		}
		policy_rules_free(r);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	unsigned fault = fuzz_fault(&in);
	uint8_t flags = fuzz_byte(&in);
	char *rule = fuzz_string(fuzz_bytes(&in, fuzz_byte(&in)));
	struct ats_slice s = fuzz_bytes(&in, in.n);
	struct policy_rules *r = policy_rules_new();
	struct ats_err err = { .text = "" };
	enum policy_effect first, with_fault;
	bool unseen, again, files = (flags & FILES) != 0, argv = (flags & ARGV) != 0;
	const char *tool = files ? "Read" : "Bash";
	struct ats_buf args;
	int rc;

	FUZZ_CHECK(r != NULL);
	ats_buf_init(&args, 8u << 20);
	rc = policy_rules_add(r, POLICY_DENY, rule, &err);
	FUZZ_CHECK(rc == 0 || (rc == -ATS_E_INVAL && err.text[0] != '\0'));
	FUZZ_CHECK(policy_rules_count(r) == (rc == 0));
	write_args(&args, files ? "file_path" : argv ? NULL : "command", "", s, "");
	first = decide(r, tool, &args, &unseen);
	FUZZ_CHECK(first == decide(r, tool, &args, &again) && unseen == again);
	ats_fault_alloc(fault);
	with_fault = decide(r, tool, &args, &again);
	ats_fault_alloc(0);		/* without memory no rule is passed by */
	FUZZ_CHECK(first != POLICY_DENY || with_fault == POLICY_DENY);
	if (!files && !argv && first == POLICY_DENY && !unseen)
		check_parts(r, &args, s);
	check_lists(rule, tool, &args, flags);
	policy_rules_free(r);
	ats_buf_done(&args);
	free(rule);
	return 0;
}
