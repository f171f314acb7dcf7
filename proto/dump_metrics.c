/* SPDX-License-Identifier: Apache-2.0
 *
 * Build tool, third part: what operators see (hops of a call, metrics). */
#include "proto/dump.h"

#include <inttypes.h>
#include <stdio.h>

#include "proto/metrics.h"

static void
print_hops(void)
{
	printf("\n## Where the time of a call goes\n\n"
	       "From `proto/timings.def`. `timings` in the answer of `ats/tool.call` and\n"
	       "`ats/exec`, in `atsctl call --json` and `atsctl inspect CALL` has them all in\n"
	       "microseconds; answers of MCP's `tools/call` do not.\n\n"
	       "| member | measured by | meaning |\n|---|---|---|\n");
#define TIMING(name, text, side, doc)                                                    \
	printf("| `%s_us` | %s | ", text, #side[0] == 'B' ? "brain" :                      \
	    "hands, within what brain saw");                                             \
	dump_cell(doc);                                                                  \
	printf(" |\n");
#include "proto/timings.def"
#undef TIMING
}

static void
print_labels(void)
{
	const char *comma = "";

	printf("\n## Labels\n\nA label has these values and no others, whatever a peer calls "
	       "itself.\n\n| label | values | meaning |\n|---|---|---|\n");
#define METRIC(name, text, type, owner, l1, l2, doc)
#define LABEL(label, name, doc)                                                          \
	if (name[0] != '\0') {                                                           \
		const char *said = doc;                                                  \
		comma = "";                                                              \
		printf("| `%s` | ", name);
#define FIRST(label, n)                                                                  \
		printf(#label[0] == 'T' ? "names of tools.md" : "the hops, without `_us`");  \
		comma = ", ";
#define VALUE(label, value, text)                                                        \
		printf("%s`%s`", comma, text);                                           \
		comma = ", ";
#define END(label)                                                                       \
		printf(" | ");                                                           \
		dump_cell(said);                                                         \
		printf(" |\n");                                                          \
	}
#include "proto/metrics.def"
#undef METRIC
#undef LABEL
#undef FIRST
#undef VALUE
#undef END
	(void)comma;
}

static void
print_label(const char *name)
{
	if (name[0] != 'N')
		for (printf(" "); *name != '\0'; name++)
			putchar(*name | ('a' - 'A'));
}

int
dump_metrics(void)
{
	dump_head("Metrics", "proto/metrics.def",
	    "What `/metrics` of ats-http says, in the text format of Prometheus; the method\n"
	    "`ats/metrics` of the door and `atsctl metrics` give the engine's part. Counters\n"
	    "begin at 0 with their process.");
	printf("\n| metric | type | of | labels | meaning |\n|---|---|---|---|---|\n");
#define LABEL(label, name, doc)
#define FIRST(label, n)
#define VALUE(label, value, text)
#define END(label)
#define METRIC(name, text, type, owner, l1, l2, doc)                                     \
	printf("| `%s` | %s | %s |", text, #type[0] == 'C' ? "counter" :                      \
	    #type[0] == 'G' ? "gauge" : "histogram",                                     \
	    #owner[0] == 'E' ? "engine" : "ats-http");                                   \
	print_label(#l1);                                                                \
	print_label(#l2);                                                                \
	printf(" | ");                                                                   \
	dump_cell(doc);                                                                  \
	printf(" |\n");
#include "proto/metrics.def"
#undef METRIC
#undef LABEL
#undef FIRST
#undef VALUE
#undef END
	printf("\nBuckets of the histograms, in microseconds:");
	for (size_t i = 0; i < ATS_METRIC_BOUNDS; i++)
		printf("%s %" PRIu64, i == 0 ? "" : ",", ats_metric_bounds_us[i]);
	printf(".\n");
	print_labels();
	print_hops();
	return 0;
}

int
dump_log(void)
{
	dump_head("Fields of the log", "proto/log_fields.def",
	    "Each line of the log is logfmt: `name=value` with one space between. A value is\n"
	    "bare, or between quotes with `\\\"`, `\\\\`, `\\n` and `\\xNN` for every byte\n"
	    "that is not visible ASCII; nothing that a peer says can end its field or the line.\n"
	    "To the journal of systemd it says its priority first, which that takes off: `<3>`\n"
	    "for error, `<4>` warn, `<6>` info, `<7>` debug.");
	printf("\n| field | meaning |\n|---|---|\n");
#define LOG_FIELD(name, doc)                                                             \
	printf("| `%s` | ", name);                                                       \
	dump_cell(doc);                                                                  \
	printf(" |\n");
#include "proto/log_fields.def"
#undef LOG_FIELD
	return 0;
}

int
dump_events(void)
{
	dump_head("Events", "brain/engine/events.def",
	    "`atsctl events --json`, and the parameters of the notification `ats/event` after\n"
	    "`ats/events.subscribe`. Each has `seq`, which rises (also when the engine is\n"
	    "another one), `ts` in milliseconds since 1970, and `kind`. Each user hears of what is "
	    "theirs.");
	printf("\n| kind | members and meaning |\n|---|---|\n");
#define EVENT(kind, doc)                                                                 \
	printf("| `%s` | ", kind);                                                       \
	dump_cell(doc);                                                                  \
	printf(" |\n");
#include "brain/engine/events.def"
#undef EVENT
	return 0;
}
