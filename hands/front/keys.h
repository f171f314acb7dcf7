/* SPDX-License-Identifier: Apache-2.0
 *
 * What front has for network links: the sandbox's key, and of it or of files TLS. */
#ifndef ATS_HANDS_FRONT_KEYS_H
#define ATS_HANDS_FRONT_KEYS_H

#include "common/err.h"

struct front;

/* Reads all that FRONT_FD_KEY gives and closes it; -1: there is none. Fills f->key, and f->tls
 * when f->opt.addr has TLS. */
ATS_NODISCARD int front_keys_take(struct front *f, int fd, struct ats_err *err);
void front_keys_done(struct front *f);

#endif
