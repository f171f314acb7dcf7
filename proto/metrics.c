/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of metrics.def, and their text. Linked into engine and ats-http; nothing here is a
 * peer's. */
#include "proto/metrics.h"

#include <inttypes.h>
#include <stdio.h>

const uint64_t ats_metric_bounds_us[ATS_METRIC_BOUNDS] = { 50, 100, 250, 500, 1000, 2500, 5000,
	10000, 25000, 50000, 100000, 250000, 1000000, 5000000, 30000000, 120000000, 600000000 };

enum type { COUNTER, GAUGE, TIMES };
static const unsigned cells_of[] = { [COUNTER] = ATS_METRIC_CELLS_COUNTER,
	[GAUGE] = ATS_METRIC_CELLS_GAUGE, [TIMES] = ATS_METRIC_CELLS_TIMES };

/* ---- labels ------------------------------------------------------------------------ */
#define METRIC(name, text, type, owner, l1, l2, doc)
#define FIRST(label, n)
#define VALUE(label, value, text)
#define END(label)
enum label {
#define LABEL(label, name, doc) LABEL_##label,
#include "proto/metrics.def"
#undef LABEL
};
#undef FIRST
#undef VALUE
#undef END

/* What FIRST puts before the rows. */
static const char *const first_TOOL[] = {
#define TOOL(sym, name, class, profile, dt, mt, out, hints, doc) name,
#define PARAM(sym, member, wire, type, req, min, max, doc)
#define END(sym)
#define ALIAS(name, target)
#define ITEM(sym, doc)
#include "proto/tools.def"
#undef TOOL
#undef PARAM
#undef END
#undef ALIAS
#undef ITEM
};
static const char *const first_HOP[] = {
#define TIMING(name, wire, side, doc) wire,
#include "proto/timings.def"
#undef TIMING
};

#define LABEL(label, name, doc) static const char *const values_##label[] = {
#define FIRST(label, n)
#define VALUE(label, value, text) [ATS_LABEL_##label##_##value] = text,
#define END(label) [ATS_LABEL_##label##_N] = NULL };
#include "proto/metrics.def"
#undef LABEL
#undef FIRST
#undef VALUE
#undef END

static const struct {
	const char *name;
	unsigned n;
	const char *const *values;
} labels[] = {
#define LABEL(label, text, doc) [LABEL_##label] = { text, ATS_LABEL_##label##_N, values_##label },
#define FIRST(label, n)
#define VALUE(label, value, text)
#define END(label)
#include "proto/metrics.def"
#undef LABEL
#undef FIRST
#undef VALUE
#undef END
};

static const char *
value_of(unsigned label, unsigned i)
{
	if (label == LABEL_TOOL && i < ATS_ARRAY_LEN(first_TOOL))
		return first_TOOL[i];
	if (label == LABEL_HOP && i < ATS_ARRAY_LEN(first_HOP))
		return first_HOP[i];
	return labels[label].values[i];
}

/* ---- metrics ----------------------------------------------------------------------- */
#undef METRIC
#define LABEL(label, name, doc)
#define FIRST(label, n)
#define VALUE(label, value, text)
#define END(label)
static const struct row {
	const char *name, *doc;
	enum type type;
	enum ats_metric_owner owner;
	unsigned label[2];
	size_t cell;
} rows[] = {
#define METRIC(id, text, kind, who, l1, l2, doc)                                         \
	[ATS_METRIC_##id] = { text, doc, kind, ATS_METRIC_##who, { LABEL_##l1, LABEL_##l2 }, \
		ATS_METRIC_CELL_##id },
#include "proto/metrics.def"
#undef METRIC
};
#undef LABEL
#undef FIRST
#undef VALUE
#undef END

static uint64_t *
cell(struct ats_metrics *m, enum ats_metric id, unsigned l1, unsigned l2)
{
	const struct row *r = &rows[id];
	unsigned n2 = labels[r->label[1]].n;

	if (l1 >= labels[r->label[0]].n || l2 >= n2)
		return NULL;
	return &m->cell[r->cell + (size_t)(l1 * n2 + l2) * cells_of[r->type]];
}

void
ats_metric_add(struct ats_metrics *m, enum ats_metric id, unsigned l1, unsigned l2, uint64_t n)
{
	uint64_t *c = cell(m, id, l1, l2);

	if (c != NULL)
		*c += n;
}

void
ats_metric_set(struct ats_metrics *m, enum ats_metric id, unsigned l1, unsigned l2, uint64_t value)
{
	uint64_t *c = cell(m, id, l1, l2);

	if (c != NULL)
		*c = value;
}

void
ats_metric_time(struct ats_metrics *m, enum ats_metric id, unsigned l1, uint64_t us)
{
	uint64_t *c = rows[id].type == TIMES ? cell(m, id, l1, 0) : NULL;
	size_t i;

	if (c == NULL)
		return;
	for (i = 0; i < ATS_METRIC_BOUNDS && us > ats_metric_bounds_us[i]; i++)
		;
	c[i]++;
	c[ATS_METRIC_BOUNDS + 1] += us;
}

/* ---- text -------------------------------------------------------------------------- */
/* {name="value",...}, with one more label that is given as text; nothing for none. */
static int
write_labels(const struct row *r, const unsigned at[2], const char *more, struct ats_buf *out)
{
	const char *before = "{";
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++) {
		if (r->label[i] == LABEL_NONE)
			continue;
		rc = ats_buf_addf(out, "%s%s=\"%s\"", before, labels[r->label[i]].name,
		    value_of(r->label[i], at[i]));
		before = ",";
	}
	if (rc == 0 && more != NULL) {
		rc = ats_buf_addf(out, "%s%s", before, more);
		before = ",";
	}
	return rc == 0 && before[0] == ',' ? ats_buf_add_char(out, '}') : rc;
}

static int
write_line(const struct row *r, const char *suffix, const unsigned at[2], const char *more,
    uint64_t value, struct ats_buf *out)
{
	int rc = ats_buf_addf(out, "%s%s", r->name, suffix);

	if (rc == 0)
		rc = write_labels(r, at, more, out);
	return rc < 0 ? rc : ats_buf_addf(out, " %" PRIu64 "\n", value);
}

/* Seconds, exactly: the text of so many microseconds. */
static void
seconds(uint64_t us, char out[32])
{
	int n = snprintf(out, 32, "%" PRIu64 ".%06u", us / 1000000, (unsigned)(us % 1000000));

	while (n > 0 && out[n - 1] == '0')
		out[--n] = '\0';
	if (n > 0 && out[n - 1] == '.')
		out[n - 1] = '\0';
}

static int
write_times(const struct row *r, const unsigned at[2], const uint64_t *c, struct ats_buf *out)
{
	char bound[32], le[48];
	uint64_t n = 0;
	int rc = 0;

	for (size_t i = 0; i <= ATS_METRIC_BOUNDS; i++)
		n += c[i];
	if (n == 0)
		return 0;
	n = 0;
	for (size_t i = 0; rc == 0 && i <= ATS_METRIC_BOUNDS; i++) {
		n += c[i];
		if (i < ATS_METRIC_BOUNDS)
			seconds(ats_metric_bounds_us[i], bound);
		(void)snprintf(le, sizeof(le), "le=\"%s\"", i < ATS_METRIC_BOUNDS ? bound : "+Inf");
		rc = write_line(r, "_bucket", at, le, n, out);
	}
	seconds(c[ATS_METRIC_BOUNDS + 1], bound);
	if (rc == 0)
		rc = ats_buf_addf(out, "%s_sum", r->name);
	if (rc == 0)
		rc = write_labels(r, at, NULL, out);
	if (rc == 0)
		rc = ats_buf_addf(out, " %s\n", bound);
	return rc < 0 ? rc : write_line(r, "_count", at, NULL, n, out);
}

static int
write_row(const struct row *r, const uint64_t *c, struct ats_buf *out)
{
	static const char *const types[] = { [COUNTER] = "counter", [GAUGE] = "gauge",
		[TIMES] = "histogram" };
	unsigned at[2];
	int rc = ats_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", r->name, r->doc, r->name,
	    types[r->type]);

	for (at[0] = 0; rc == 0 && at[0] < labels[r->label[0]].n; at[0]++)
		for (at[1] = 0; rc == 0 && at[1] < labels[r->label[1]].n; at[1]++) {
			rc = r->type == TIMES ? write_times(r, at, c, out) :
						write_line(r, "", at, NULL, *c, out);
			c += cells_of[r->type];
		}
	return rc;
}

int
ats_metrics_write(const struct ats_metrics *m, enum ats_metric_owner owner, struct ats_buf *out)
{
	size_t mark = out->len;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < ATS_ARRAY_LEN(rows); i++)
		if (rows[i].owner == owner)
			rc = write_row(&rows[i], m->cell + rows[i].cell, out);
	if (rc < 0)
		ats_buf_truncate(out, mark);
	return rc;
}
