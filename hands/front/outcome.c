/* SPDX-License-Identifier: Apache-2.0
 *
 * The taxonomy of how commands end. Runs in hands' front; status and flags come from the
 * shell's monitor, the command from the model. */
#include "hands/front/outcome.h"

#include "hands/job.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

const char *
outcome_kind_name(enum outcome_kind kind)
{
	static const char *const names[] = {
		[OUTCOME_EXIT] = "exit",
		[OUTCOME_SIGNAL] = "signal",
		[OUTCOME_TIMEOUT] = "timeout",
		[OUTCOME_CANCELLED] = "cancelled",
		[OUTCOME_OOM] = "oom",
		[OUTCOME_PIDS] = "pids",
		[OUTCOME_SECCOMP] = "seccomp",
		[OUTCOME_CPU] = "cpu",
		[OUTCOME_FILE_SIZE] = "file_size",
	};

	return names[kind];
}

const char *
outcome_by_name(enum outcome_by by)
{
	static const char *const names[] = {
		[BY_COMMAND] = "command",
		[BY_KERNEL] = "kernel",
		[BY_TIMEOUT] = "timeout",
		[BY_DEFAULT] = "default_timeout",
		[BY_MAXIMUM] = "maximum_timeout",
		[BY_DEADLINE] = "deadline",
		[BY_CALLER] = "caller",
		[BY_KILL] = "kill",
		[BY_LIFE] = "life_limit",
	};

	return names[by];
}

const char *
outcome_signal_name(unsigned number)
{
	static const struct {
		unsigned number;
		const char *name;
	} names[] = {
		{ SIGHUP, "SIGHUP" },
		{ SIGINT, "SIGINT" },
		{ SIGQUIT, "SIGQUIT" },
		{ SIGILL, "SIGILL" },
		{ SIGTRAP, "SIGTRAP" },
		{ SIGABRT, "SIGABRT" },
		{ SIGBUS, "SIGBUS" },
		{ SIGFPE, "SIGFPE" },
		{ SIGKILL, "SIGKILL" },
		{ SIGUSR1, "SIGUSR1" },
		{ SIGSEGV, "SIGSEGV" },
		{ SIGUSR2, "SIGUSR2" },
		{ SIGPIPE, "SIGPIPE" },
		{ SIGALRM, "SIGALRM" },
		{ SIGTERM, "SIGTERM" },
		{ SIGXCPU, "SIGXCPU" },
		{ SIGXFSZ, "SIGXFSZ" },
		{ SIGSYS, "SIGSYS" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(names); i++) {
		if (names[i].number == number)
			return names[i].name;
	}
	return "a signal";
}

/* ---- the last command of a text ---------------------------------------------------- */
struct scan {
	const char *p;
	const char *word;  /* where the last simple command begins */
	bool after_and;	   /* it is behind an && of the same list */
	const char *chain; /* what 1 of an earlier command of that list would mean */
	bool unsure;	   /* heredoc, substitution at its head, ...: say nothing */
};

static const char *
skip_quoted(const char *p)
{
	char q = *p++;

	while (*p != '\0' && *p != q) {
		if (q == '"' && *p == '\\' && p[1] != '\0')
			p++;
		p++;
	}
	return *p == '\0' ? p : p + 1;
}

/* Behind the bracket that closes the one at p. */
static const char *
skip_nested(const char *p)
{
	unsigned depth = 0;

	while (*p != '\0') {
		if (*p == '\'' || *p == '"') {
			p = skip_quoted(p);
			continue;
		}
		if (*p == '\\' && p[1] != '\0')
			p++;
		else if (*p == '(')
			depth++;
		else if (*p == ')' && --depth == 0)
			return p + 1;
		p++;
	}
	return p;
}

static bool
word_is(const char *w, size_t n, const char *name)
{
	return strlen(name) == n && memcmp(w, name, n) == 0;
}

static size_t
word_len(const char *p)
{
	return strcspn(p, " \t\n;|&<>()");
}

/* The command's name: assignments and words that run another command are skipped. */
static const char *
command_name(const char *p, size_t *ret_n)
{
	static const char *const runs[] = { "command", "sudo", "time", "nice", "env",
		"exec" };

	for (;;) {
		size_t n, i;
		const char *eq;

		p += strspn(p, " \t");
		n = word_len(p);
		eq = memchr(p, '=', n);
		if (eq != NULL && eq != p && memchr(p, '/', (size_t)(eq - p)) == NULL) {
			p += n;
			continue;
		}
		for (i = 0; i < ATS_ARRAY_LEN(runs) && !word_is(p, n, runs[i]); i++)
			;
		if (i < ATS_ARRAY_LEN(runs) && n > 0) {
			p += n;
			continue;
		}
		for (i = n; i > 0 && p[i - 1] != '/'; i--)
			;
		*ret_n = n - i;
		return p + i;
	}
}

static const char *
meaning(const char *w, size_t n, const char *rest)
{
	static const struct {
		const char *name, *text;
	} table[] = {
		{ "grep", "no line matched" },
		{ "egrep", "no line matched" },
		{ "fgrep", "no line matched" },
		{ "zgrep", "no line matched" },
		{ "rg", "no line matched" },
		{ "diff", "the files differ" },
		{ "cmp", "the files differ" },
		{ "find", "find had errors with some files" },
		{ "test", "the condition is false" },
		{ "[", "the condition is false" },
		{ "[[", "the condition is false" },
	};

	for (size_t i = 0; i < ATS_ARRAY_LEN(table); i++) {
		if (word_is(w, n, table[i].name))
			return table[i].text;
	}
	if (!word_is(w, n, "git"))
		return NULL;
	rest += strspn(rest, " \t");
	if (word_is(rest, word_len(rest), "grep"))
		return "no line matched";
	if (word_is(rest, word_len(rest), "diff"))
		return "the files differ";
	return NULL;
}

static const char *
command_meaning(const char *p)
{
	size_t n;
	const char *name = command_name(p, &n);

	return meaning(name, n, name + n);
}

static void
separator(struct scan *s)
{
	const char *p = s->p;

	if (p[0] == '&' && (p[1] == '>' || (p != s->word && p[-1] == '>'))) {
		s->p++; /* a redirection, &> or >& */
		return;
	}
	if (p[0] == '|' && p != s->word && p[-1] == '>') {
		s->p++; /* >| */
		return;
	}
	if (p[0] == '&' && p[1] == '&') {
		s->after_and = true;
		if (s->chain == NULL)
			s->chain = command_meaning(s->word);
	} else if (p[0] != '|' || p[1] == '|') { /* a pipe keeps the list going */
		s->after_and = false;
		s->chain = NULL;
	}
	if (strchr("|&;", p[1]) != NULL && p[1] != '\0')
		s->p++;
	s->p++;
	while (*s->p == ' ' || *s->p == '\t' || *s->p == '\n')
		s->p++;
	if (*s->p != '\0')
		s->word = s->p;
}

static void
scan_command(struct scan *s)
{
	while (*s->p != '\0' && !s->unsure) {
		switch (*s->p) {
		case '\'':
		case '"':
			s->p = skip_quoted(s->p);
			break;
		case '\\':
			s->p += s->p[1] != '\0' ? 2 : 1;
			break;
		case '#':
			if (s->p != s->word && s->p[-1] != ' ' && s->p[-1] != '\t') {
				s->p++;
				break;
			}
			while (*s->p != '\0' && *s->p != '\n')
				s->p++;
			break;
		case '(':
			s->p = skip_nested(s->p);
			break;
		case '`':
			s->unsure = true;
			break;
		case '<':
			s->unsure = s->p[1] == '<' && s->p[2] != '<';
			s->p += s->p[1] == '<' && s->p[2] == '<' ? 3 : 1;
			break;
		case '|':
		case '&':
		case ';':
		case '\n':
			separator(s);
			break;
		default:
			s->p++;
		}
	}
}

const char *
outcome_benign(const char *command, bool printed)
{
	struct scan s = { .p = command, .word = command };
	const char *text;

	s.p += strspn(s.p, " \t\n");
	s.word = s.p;
	scan_command(&s);
	if (s.unsure)
		return NULL;
	/* Behind && the status may be an earlier command's, which would have said why. */
	if (s.after_and && printed)
		return NULL;
	text = command_meaning(s.word);
	return text == NULL && s.after_and ? s.chain : text;
}

/* ---- deciding and saying ----------------------------------------------------------- */
/* What a signal of the kernel's says; other where it is a signal like any. */
static enum outcome_kind
kind_of_signal(unsigned number, unsigned flags, enum outcome_kind other)
{
	switch (number) {
	case SIGSYS:
		return OUTCOME_SECCOMP;
	case SIGXCPU:
		return OUTCOME_CPU;
	case SIGXFSZ:
		return OUTCOME_FILE_SIZE;
	case SIGKILL:
		return (flags & EXIT_CPU) != 0 ? OUTCOME_CPU :
		    (flags & EXIT_OOM) != 0 ? OUTCOME_OOM : other;
	default:
		return other;
	}
}

void
outcome_decide(int status, unsigned flags, enum outcome_ended ended, const char *command,
    bool printed, struct outcome *o)
{
	memset(o, 0, sizeof(*o));
	o->is_error = true;
	if (WIFSIGNALED(status)) {
		o->code = (unsigned)WTERMSIG(status);
		o->kind = kind_of_signal(o->code, flags, OUTCOME_SIGNAL);
	} else {
		o->code = (unsigned)WEXITSTATUS(status);
		o->is_error = o->code != 0;
		o->kind = kind_of_signal(o->code - 128, flags, OUTCOME_EXIT);
		if (o->kind == OUTCOME_EXIT && o->code != 0 && (flags & EXIT_PIDS) != 0)
			o->kind = OUTCOME_PIDS;
	}
	if (ended == ENDED_TIMEOUT) {
		o->kind = OUTCOME_TIMEOUT;
		o->by = BY_TIMEOUT;
		o->is_error = true;
		o->err = ATS_E_TIMEOUT;
	} else if (ended == ENDED_CANCEL) {
		o->kind = OUTCOME_CANCELLED;
		o->by = BY_CALLER;
		o->is_error = true;
		o->err = ATS_E_CANCELLED;
	} else if (o->kind == OUTCOME_EXIT && o->code == 1 && command != NULL) {
		o->benign = outcome_benign(command, printed);
		o->is_error = o->benign == NULL;
	}
	if (o->kind == OUTCOME_OOM || o->kind == OUTCOME_SECCOMP || o->kind == OUTCOME_CPU ||
	    o->kind == OUTCOME_FILE_SIZE)
		o->by = BY_KERNEL;
}

static int
exit_line(const struct outcome *o, struct ats_buf *out)
{
	int rc = ats_buf_addf(out, "Exit code %u", o->code);

	if (rc == 0 && o->code == 127)
		rc = ats_buf_add_str(out, " (a command was not found)");
	else if (rc == 0 && o->code == 126)
		rc = ats_buf_add_str(out, " (a command could not be executed)");
	else if (rc == 0 && o->code > 128 && o->code <= 128 + 31)
		rc = ats_buf_addf(out, " (killed by signal %u, %s)", o->code - 128,
		    outcome_signal_name(o->code - 128));
	return rc;
}

static int
timeout_line(const struct outcome *o, uint64_t ms, struct ats_buf *out)
{
	static const char *const who[] = {
		[BY_TIMEOUT] = "its timeout",
		[BY_DEFAULT] = "the default; timeout sets another",
		[BY_MAXIMUM] = "the longest there is; run_in_background goes on longer",
		[BY_DEADLINE] = "the caller's deadline",
	};

	return ats_buf_addf(out,
	    "Timed out after %" PRIu64 ".%" PRIu64 " s (%s); the command and everything it "
	    "started were ended",
	    ms / 1000, ms % 1000 / 100, who[o->by]);
}

int
outcome_line(const struct outcome *o, uint64_t limit_ms, struct ats_buf *out)
{
	switch (o->kind) {
	case OUTCOME_EXIT:
		return o->is_error ? exit_line(o, out) : 0;
	case OUTCOME_SIGNAL:
		return ats_buf_addf(out, "The shell was killed by signal %u (%s)",
		    o->code, outcome_signal_name(o->code));
	case OUTCOME_TIMEOUT:
		if (limit_ms == 0)
			return ats_buf_add_str(out, "Timed out; the command and everything "
			    "it started were ended");
		return timeout_line(o, limit_ms + 50, out); /* it lost a little on its way */
	case OUTCOME_CANCELLED:
		return ats_buf_add_str(
		    out, "Cancelled; the command and everything it started were ended");
	case OUTCOME_OOM:
		return ats_buf_add_str(out,
		    "Out of memory: the kernel killed a process of the command (exit code "
		    "137, SIGKILL)");
	case OUTCOME_PIDS:
		return ats_buf_addf(out,
		    "Exit code %u; the sandbox's process limit was reached (fork failed)",
		    o->code);
	case OUTCOME_SECCOMP:
		return ats_buf_add_str(
		    out, "Killed for a system call that the sandbox forbids (SIGSYS)");
	case OUTCOME_CPU:
		return ats_buf_add_str(out, "Killed for the processor time it used: the "
		    "sandbox's limit for one process was reached (SIGXCPU, SIGKILL)");
	case OUTCOME_FILE_SIZE:
		return ats_buf_add_str(out, "Killed for the size of a file it wrote: the "
		    "sandbox's limit for one file was reached (SIGXFSZ)");
	}
	return 0;
}
