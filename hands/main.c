/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-hands: one static file, several roles. As itself it is the launcher of a box; init
 * execs it again as front and as the zygotes. Input: argv, from the spawner, an image, a
 * person, or init. */
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/options.h"
#include "hands/confine/probe.h"
#include "hands/front/front.h"
#include "hands/init/attach.h"
#include "hands/init/launcher.h"
#include "hands/init/roles.h"
#include "hands/init/take_key.h"
#include "hands/shim/shim.h"
#include "hands/worker/zygote.h"

int
main(int argc, char **argv)
{
	struct hands_options options;
	struct ats_err err = { 0 };

	if (argc > 1 && strcmp(argv[1], ROLE_FRONT) == 0)
		return front_main(argc - 1, argv + 1);	/* confines itself first */
	if (argc > 1 && strcmp(argv[1], ROLE_ZYGOTE) == 0)
		return zygote_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "attach") == 0)
		return attach_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "take-key") == 0)
		return take_key_main(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "shim") == 0)
		return shim_main(argc - 1, argv + 1);
	if (options_parse(argc, argv, &options, &err) < 0) {
		(void)fprintf(stderr, "%sats-hands: %s\n", ats_log_mark(ATS_LOG_ERROR), err.text);
		return 2;
	}
	if (options.help)
		options_usage();
	if (options.version)
		ats_options_say("ats-hands " ATS_VERSION "\n");
	return options.probe ? probe_print() : launcher_run(&options);
}
