/* SPDX-License-Identifier: Apache-2.0
 *
 * An entry as getdents64(2) gives it; the C library has it under two names, with a fixed size. */
#ifndef ATS_HANDS_FS_DENT_H
#define ATS_HANDS_FS_DENT_H

#include <stdint.h>

struct dent {
	uint64_t ino;
	int64_t off;
	unsigned short len;		/* of this entry: where the next one begins */
	unsigned char type;		/* DT_* */
	char name[];
};

#endif
