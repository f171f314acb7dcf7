/* SPDX-License-Identifier: Apache-2.0
 *
 * The [...] of a pattern: which bytes it may be, and a form of it that is never a newline.
 * Runs in read workers; the pattern is the model's. */
#include "hands/match/regex_reader.h"

#include <string.h>

struct class {
	bool negated;
	bool dangerous;		/* may hold a newline */
	bool complex;		/* members are not listed */
	char members[8];
	size_t nmembers;
};

static void
class_add(struct class *k, char c)
{
	if (k->nmembers == sizeof(k->members) || (unsigned char)c >= 0x80)
		k->complex = true;
	else
		k->members[k->nmembers++] = c;
}

/* One item of a class that begins with a backslash; returns the byte behind it. */
static const char *
class_escape(struct regex_reader *r, struct class *k, const char *q)
{
	const char *e = q + 2;

	if (r->end - q < 2) {
		k->complex = true;
		return r->end;
	}
	switch (q[1]) {
	case 'd': case 'w':
		k->complex = true;
		r->s->classes = true;
		break;
	case 's': case 'S': case 'W': case 'D': case 'H': case 'h':
		k->complex = true;
		k->dangerous = k->dangerous || (q[1] != 'S' && q[1] != 'h');
		r->s->wild = true;
		break;
	case 't':
		class_add(k, '\t');
		break;
	case 'r':
		r->s->keep_cr = true;
		k->complex = true;
		break;
	case 'p': case 'P':
		r->s->utf = true;
		k->complex = k->dangerous = true;
		while (q[2] == '{' && e < r->end && e[-1] != '}')
			e++;
		break;
	case 'x':
		r->s->utf = r->s->utf || regex_read_hex(q + 1, r->end, &e) > 0xff;
		k->complex = k->dangerous = true;
		break;
	case 'Q':
		regex_give_up(r);
		break;
	default:
		k->complex = k->complex || (unsigned char)q[1] >= 0x80;
		if ((q[1] | 0x20) >= 'a' && (q[1] | 0x20) <= 'z')
			k->complex = k->dangerous = true;
		else if (q[1] >= '0' && q[1] <= '9')
			k->complex = k->dangerous = true;
		else
			class_add(k, q[1]);
	}
	return e;
}

static const char *
class_item(struct regex_reader *r, struct class *k, const char *q)
{
	if (*q == '\\')
		return class_escape(r, k, q);
	if (*q == '[' && r->end - q > 1 && strchr(":.=", q[1]) != NULL) {
		const char *e = q + 2;

		while (r->end - e > 1 && !(e[0] == q[1] && e[1] == ']') && *e != ']')
			e++;
		if (r->end - e > 1 && e[0] == q[1]) {
			k->complex = k->dangerous = true;
			r->s->wild = true;
			return e + 2;
		}
	}
	if (*q == '\n' || *q == '\r')
		k->complex = k->dangerous = true;
	class_add(k, *q);
	return q + 1;
}

/* Returns the byte behind the ']', or NULL. */
static const char *
class_scan(struct regex_reader *r, struct class *k)
{
	const char *q = r->p + 1;
	bool first = true;

	if (q < r->end && *q == '^') {
		k->negated = true;
		q++;
	}
	for (; q < r->end && (first || *q != ']') && !r->gave_up; first = false) {
		const char *low = q;

		q = class_item(r, k, q);
		if (r->end - q > 1 && *q == '-' && q[1] != ']') {
			k->complex = true;
			/* Any range that begins below the newline may hold it. */
			if (*low == '\\' || (unsigned char)*low <= '\n')
				k->dangerous = true;
			q = class_item(r, k, q + 1);
		}
	}
	return q < r->end && !r->gave_up ? q + 1 : NULL;
}

void
regex_read_class(struct regex_reader *r, struct words_node *ret)
{
	struct class k = { 0 };
	const char *e = class_scan(r, &k);
	const char *inner = r->p + (k.negated ? 2 : 1);

	if (e == NULL) {
		regex_give_up(r);
		return;
	}
	if (k.negated) {
		r->s->wild = true;
		regex_emit_str(r, *inner == ']' ? "[^\\n\\]" : "[^\\n");
		inner += *inner == ']';
		regex_emit(r, inner, (size_t)(e - inner));
	} else if (k.dangerous) {
		regex_emit_str(r, "(?:(?!\\n)");
		regex_emit(r, r->p, (size_t)(e - r->p));
		regex_emit_str(r, ")");
	} else {
		regex_emit(r, r->p, (size_t)(e - r->p));
	}
	if (k.negated || k.complex)
		words_unknown(ret);
	else
		words_bytes(ret, k.members, k.nmembers, r->s->fold);
	r->p = e;
}
