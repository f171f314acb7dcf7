/* SPDX-License-Identifier: Apache-2.0
 *
 * The start of a link, for link.c: what is beneath it, the hellos, and over a network the proof. */
#ifndef ATS_ENGINE_LINK_HELLO_H
#define ATS_ENGINE_LINK_HELLO_H

#include "brain/engine/link.h"
#include "common/chan.h"

/* Takes fd, also on failure, and makes the channel that addr wants. */
ATS_NODISCARD int link_connect(struct sandbox *box, int fd, const struct ats_addr *addr,
    const struct ats_chan_ops *ops, struct ats_err *err);
/* Says hello. */
ATS_NODISCARD int link_hello(struct sandbox *box, struct ats_err *err);
/* Negative returns end the link. */
ATS_NODISCARD int link_on_hello(struct sandbox *box, const struct ats_msg_HELLO *m,
    struct ats_err *err);
ATS_NODISCARD int link_on_prove(struct sandbox *box, const struct ats_msg_PROVE *m,
    struct ats_err *err);
/* Returns -ATS_E_PROOF. why is for our log: the peer hears the same for whatever it was. */
int link_not_proven(struct sandbox *box, const char *why, struct ats_err *err);
/* What hands says of itself counts from here on. workspace may be NULL. */
ATS_NODISCARD int link_take_hands(struct sandbox *box, const char *boot, const char *workspace,
    struct ats_err *err);

#endif
