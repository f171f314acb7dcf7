/* SPDX-License-Identifier: Apache-2.0
 *
 * How Read shows a notebook. */
#ifndef ATS_HANDS_TOOLS_NOTEBOOK_SHOW_H
#define ATS_HANDS_TOOLS_NOTEBOOK_SHOW_H

#include "hands/tools/tool.h"

/* Writes a Jupyter notebook's cells with their outputs, images as blocks. Returns 1, with out
 * untouched, when the bytes are no notebook that this understands. */
ATS_NODISCARD int notebook_show(const char *p, size_t n, struct tool_result *out);

#endif
