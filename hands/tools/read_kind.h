/* SPDX-License-Identifier: Apache-2.0
 *
 * What Read makes of a file, by its first bytes and its name. */
#ifndef ATS_HANDS_TOOLS_READ_KIND_H
#define ATS_HANDS_TOOLS_READ_KIND_H

#include "hands/fs/file.h"
#include "hands/fs/image.h"

enum read_kind { READ_REFUSED, READ_TEXT, READ_IMAGE, READ_PDF };
struct read_judge {
	const char *path;
	uint64_t size;	  /* of the file */
	bool lines_asked; /* offset or limit: text is wanted, whatever the name says */
};
/* What Read does with a file that begins with these bytes; whole: they are all of it.
 * READ_IMAGE fills ret. READ_REFUSED: out says why. */
enum read_kind read_judge(const struct read_judge *j, const char *p, size_t n, bool whole,
    struct image *ret, struct tool_result *out);
/* As read_judge refuses what turns out not to be text. */
void read_refuse_binary(const struct read_judge *j, const char *what, struct tool_result *out);
/* It begins with a byte order mark of UTF-16. */
bool read_is_utf16(const char *p, size_t n);
/* Without regard to case; a path that is the suffix alone does not. */
bool read_ends_in(const char *path, const char *suffix);

#endif
