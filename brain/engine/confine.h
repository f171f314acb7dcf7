/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's own confinement. */
#ifndef ATS_ENGINE_CONFINE_H
#define ATS_ENGINE_CONFINE_H

#include "common/confine/seccomp.h"

struct engine;

/* Its filter: what all processes have, what all daemons have, its own. */
#define ENGINE_FILTER_TABLES 3
extern const struct ats_seccomp_table *const engine_filter[ENGINE_FILTER_TABLES];

/* No new privileges, no capability, no exec, no socket but AF_UNIX, no listener; files: its
 * own state (read, write), the logs of hands (read), sockets beside the door (connect). The
 * journal must be open. After an error the process must end. */
ATS_NODISCARD int confine_engine(const struct engine *e, int door_fd, struct ats_err *err);

#endif
