/* SPDX-License-Identifier: Apache-2.0
 *
 * A hands that is started before anybody knows whose it will be: a pod that is kept warm. Until
 * its key is there it connects to nobody and runs nothing. */
#ifndef ATS_HANDS_INIT_KEY_WAIT_H
#define ATS_HANDS_INIT_KEY_WAIT_H

#include "common/err.h"

#define KEY_WAIT_MAX_S (30 * 86400)

/* Waits at most so many seconds until something lies at path; it must be put there whole, by
 * rename or link, as take-key and the volumes of a cluster do. signals: of wait_signals; what ends
 * meanwhile is reaped. 1: asked to end. -ATS_E_TIMEOUT, with a text that says what to do;
 * -ATS_E_NOENT when there is no directory to put it in. */
ATS_NODISCARD int key_wait(const char *path, int limit_s, int signals, struct ats_err *err);
/* Makes the workspace that came with the key: root itself, or directories below it. No component
 * below root may be a link, which earlier tools could have left there. -ATS_E_INVAL when it lies
 * elsewhere. */
ATS_NODISCARD int key_workspace(const char *root, const char *path, struct ats_err *err);

#endif
