/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the build tool proto/dump: pages of the host side's tables. */
#ifndef ATS_PROTO_DUMP_H
#define ATS_PROTO_DUMP_H

/* Title, source and first paragraph of a page. */
void dump_head(const char *title, const char *source, const char *text);
/* Text in a table cell: a bar would end the cell. */
void dump_cell(const char *s);

/* Each prints a page and returns 0. */
int dump_config(void);
int dump_man_config(void);	/* docs/man */
int dump_man_protocol(void);
int dump_methods(void);
int dump_commands(void);
int dump_audit(void);
int dump_metrics(void);
int dump_log(void);
int dump_events(void);
int dump_audit_schema(void);	/* proto/schema/audit.json */
void dump_settings(void);	/* rows for the page of limits */
void dump_tool_limits(void);
void dump_client_limits(void);
int dump_client_table(void);	/* packaging/npm/lib/table.js */
void dump_http_limits(void);

#endif
