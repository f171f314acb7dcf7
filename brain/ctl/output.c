/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors, safe text and tables. Process: atsctl; brain, and through it a sandbox,
 * controls the texts. */
#include "brain/ctl/output.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CELLS_MAX (1u << 20)
#define FOLD_MIN 24u	/* a column narrower than that is not worth folding */

/* Length of the character at s; *ret_bad when it must not reach a terminal. */
static size_t
character(const char *s, size_t n, bool *ret_bad)
{
	unsigned len = ats_utf8_seq(s, n);
	const unsigned char *u = (const unsigned char *)s;

	*ret_bad = len == 0;
	if (len <= 1)
		*ret_bad = len == 0 || u[0] < 0x20 || u[0] == 0x7f;
	else if (len == 2)	/* C1, soft hyphen stays, U+061C Arabic letter mark */
		*ret_bad =
		    (u[0] == 0xc2 && u[1] < 0xa0) || (u[0] == 0xd8 && u[1] == 0x9c);
	else if (len == 3 && u[0] == 0xe2)	/* U+200B-F, U+2028-E, U+2060-F */
		*ret_bad = (u[1] == 0x80 && ((u[2] >= 0x8b && u[2] <= 0x8f) ||
				(u[2] >= 0xa8 && u[2] <= 0xae))) ||
		    (u[1] == 0x81 && u[2] >= 0xa0 && u[2] <= 0xaf);
	return len > 0 ? len : 1;
}

void
out_safe(FILE *f, const char *s, size_t n)
{
	size_t len;
	bool bad;

	for (size_t i = 0; i < n; i += len) {
		len = character(s + i, n - i, &bad);
		if (bad)
			(void)fputc('?', f);
		else
			(void)fwrite(s + i, 1, len, f);
	}
}

static size_t
width(const char *s)
{
	size_t w = 0, n = strlen(s);
	bool bad;

	for (size_t i = 0; i < n; w++)
		i += character(s + i, n - i, &bad);
	return w;
}

static bool errors_as_json;

void
ctl_fail_as_json(void)
{
	errors_as_json = true;
}

static void
fail_json(int exit_code, const char *code, const char *text)
{
	struct ats_json_w w;
	struct ats_buf b;

	ats_buf_init(&b, 16384);
	ats_json_w_init(&w, &b);
	ats_json_w_object(&w, NULL);
	ats_json_w_object(&w, exit_code != 0 ? "error" : "note");
	if (exit_code != 0)
		ats_json_w_str(&w, "code", code);
	ats_json_w_str(&w, "message", text);
	if (exit_code != 0)
		ats_json_w_u64(&w, "exit", (uint64_t)exit_code);
	ats_json_w_end(&w);
	ats_json_w_end(&w);
	if (w.rc == 0)
		(void)fprintf(stderr, "%s\n", b.data);
	ats_buf_done(&b);
}

/* Lines in one, as a text of somebody else's could else look like another message of ours. */
static void
write_joined(FILE *f, const char *s)
{
	for (const char *end; *s != '\0'; s = end + strspn(end, "\n")) {
		end = s + strcspn(s, "\n");
		out_safe(f, s, (size_t)(end - s));
		if (end[strspn(end, "\n")] != '\0')
			(void)fputs("; ", f);
	}
}

static int ATS_PRINTF(3, 0)
fail(int exit_code, const char *code, const char *fmt, va_list ap)
{
	char text[1024];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	(void)fflush(stdout);
	if (errors_as_json) {
		fail_json(exit_code, code, text);
		return exit_code;
	}
	(void)fputs("atsctl: ", stderr);
	write_joined(stderr, text);
	(void)fputc('\n', stderr);
	return exit_code;
}

int
ctl_fail(int exit_code, const char *fmt, ...)
{
	const char *code = exit_code == CTL_USAGE ? "usage" :
	    exit_code == CTL_NOT_RUNNING ? "not_running" :
	    exit_code == CTL_NOT_RUN ? "not_run" : "failed";
	va_list ap;

	va_start(ap, fmt);
	(void)fail(exit_code, code, fmt, ap);
	va_end(ap);
	return exit_code;
}

int
ctl_fail_code(int exit_code, const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)fail(exit_code, code, fmt, ap);
	va_end(ap);
	return exit_code;
}

int
ctl_fail_err(const struct ctl *c, int exit_code, const struct ats_err *err)
{
	return ctl_fail_code(exit_code,
	    exit_code == CTL_NOT_RUNNING ? "not_running" : ats_err_name(err->code), "%s: %s",
	    c->command->name, err->text[0] != '\0' ? err->text : ats_err_text(err->code));
}

bool
out_colored(FILE *f)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (no == NULL || no[0] == '\0') && term != NULL &&
	       strcmp(term, "dumb") != 0 && isatty(fileno(f));
}

/* Colour of the words that tell a state, or NULL. */
static const char *
color_of(const char *s)
{
	static const struct {
		const char *word, *color;
	} t[] = {
		{ "on", "32" }, { "ok", "32" }, { "ready", "32" }, { "running", "32" },
		{ "healthy", "32" }, { "full", "32" }, { "done", "32" },
		{ "partial", "33" }, { "warning", "33" }, { "starting", "33" }, { "backoff", "33" },
		{ "hello", "33" }, { "degraded", "33" }, { "off", "31" },
		{ "lost", "31" }, { "failed", "31" }, { "dying", "31" },
		{ "unknown", "31" }, { "missing", "31" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(t); i++) {
		if (strcmp(s, t[i].word) == 0)
			return t[i].color;
	}
	return NULL;
}

void
out_table_init(struct out_table *t, size_t ncols)
{
	*t = (struct out_table){ .ncols = ncols };
}

void
out_table_done(struct out_table *t)
{
	for (size_t i = 0; i < t->ncells; i++)
		free(t->cells[i]);
	free(t->cells);
	out_table_init(t, t->ncols);
}

void
out_table_cell(struct out_table *t, const char *s, size_t n)
{
	char **bigger;

	if (t->ncells == t->cap) {
		size_t cap = t->cap == 0 ? 64 : t->cap * 2;

		if (cap > CELLS_MAX)
			return;
		bigger = realloc(t->cells, cap * sizeof(*bigger));
		if (bigger == NULL)
			return;
		t->cells = bigger;
		t->cap = cap;
	}
	t->cells[t->ncells++] = strndup(s, n);
}

void
out_table_line(struct out_table *t, const char *before, const char *s)
{
	char *both;

	if (asprintf(&both, "%s%s", before, s) < 0)
		return;
	out_table_cell(t, both, strlen(both));
	free(both);
}

/* The last cell of a row that is not empty: nothing is printed behind it. */
static bool
is_last(const struct out_table *t, size_t i)
{
	for (i++; i < t->ncells && i % t->ncols != 0; i++) {
		if (t->cells[i] != NULL && t->cells[i][0] != '\0')
			return false;
	}
	return true;
}

/* Columns of the terminal behind f, or 0: nothing is folded for files and programs. */
static size_t
columns_of(FILE *f)
{
	struct winsize w;

	return isatty(fileno(f)) && ioctl(fileno(f), TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

/* Bytes of s that fit into room characters and end before a blank; a word that is longer
 * than room stays whole, so that it can be copied. */
static size_t
fitting(const char *s, size_t room)
{
	size_t n = strlen(s), fits = 0, w = 0;
	bool bad;

	for (size_t i = 0; i < n; w++) {
		if (s[i] == ' ' && (w <= room || fits == 0))
			fits = i;
		if (w >= room && fits > 0)
			return fits;
		i += character(s + i, n - i, &bad);
	}
	return w <= room || fits == 0 ? n : fits;
}

/* The last cell of a row, from column `from` on, on as many lines as it needs. */
static void
print_folded(FILE *f, const char *s, size_t from, size_t columns)
{
	size_t n;

	while (columns >= from + FOLD_MIN && s[n = fitting(s, columns - from)] != '\0') {
		out_safe(f, s, n);
		(void)fprintf(f, "\n%*s", (int)from, "");
		s += n + strspn(s + n, " ");
	}
	out_safe(f, s, strlen(s));
}

static const char *
text_of(const struct out_table *t, size_t cell)
{
	return cell < t->ncells && t->cells[cell] != NULL ? t->cells[cell] : "";
}

static void
print_colored(FILE *f, const char *s, size_t from, size_t columns, bool head, bool colored)
{
	const char *color = !colored ? NULL : head ? "1" : color_of(s);

	if (color != NULL)
		(void)fprintf(f, "\033[%sm", color);
	print_folded(f, s, from, columns);
	if (color != NULL)
		(void)fputs("\033[0m", f);
}

static void
print_cell(FILE *f, const char *s, size_t pad, bool head, bool colored)
{
	print_colored(f, s, 0, 0, head, colored);
	for (size_t w = width(s); w < pad; w++)
		(void)fputc(' ', f);
}

static void
print_last(FILE *f, const char *s, size_t from, size_t columns, bool head, bool colored)
{
	print_colored(f, s, from, columns, head, colored);
	(void)fputc('\n', f);
}

/* A table that is wider than the terminal, its last column left out: "name value" lines for
 * each row, as a wrapped row cannot be read. */
static void
print_long(const struct out_table *t, FILE *f, size_t columns, bool colored)
{
	size_t pad = 0;

	for (size_t i = 0; i < t->ncols; i++) {
		size_t w = width(text_of(t, i));

		pad = w > pad ? w : pad;
	}
	for (size_t i = t->ncols; i < t->ncells; i++) {
		if (i % t->ncols == 0 && i > t->ncols)
			(void)fputc('\n', f);
		print_cell(f, text_of(t, i % t->ncols), pad + 2, true, colored);
		print_last(f, text_of(t, i), pad + 2, columns, false, colored);
	}
}

void
out_table_print(const struct out_table *t, FILE *f)
{
	size_t widths[OUT_COLS_MAX] = { 0 }, from = 0, columns = columns_of(f);
	bool colored = out_colored(f);

	for (size_t i = 0; i < t->ncells; i++) {
		size_t w = width(text_of(t, i)), col = i % t->ncols;

		if (w > widths[col])
			widths[col] = w;
	}
	for (size_t col = 0; col + 1 < t->ncols; col++)
		from += widths[col] + 2;
	if (t->head && columns > 0 && from + width(text_of(t, t->ncols - 1)) > columns) {
		print_long(t, f, columns, colored);
		return;
	}
	for (size_t i = 0; i < t->ncells; i++) {
		size_t col = i % t->ncols;
		bool head = t->head && i < t->ncols;

		from = col == 0 ? 0 : from + widths[col - 1] + 2;
		if (!is_last(t, i)) {
			print_cell(f, text_of(t, i), widths[col] + 2, head, colored);
			continue;
		}
		print_last(f, text_of(t, i), from, columns, head, colored);
		i += t->ncols - 1 - col;
	}
}
