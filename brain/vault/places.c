/* SPDX-License-Identifier: Apache-2.0
 *
 * The places of a brain. Runs before anything else of it is there; options and environment are the
 * user's. */
#include "brain/vault/places.h"

#include <stdio.h>
#include <unistd.h>

static int
take_dir(char out[ATS_PATH_MAX], const char *given, struct ats_err *err)
{
	char cwd[ATS_PATH_MAX];

	if (given == NULL)
		return 0;
	if (getcwd(cwd, sizeof(cwd)) == NULL)
		return ats_err_sys(err, "current directory");
	if (ats_path_join(cwd, given, out, ATS_PATH_MAX) < 0)
		return ats_err_set(err, ATS_E_INVAL, "%.64s: not a usable path", given);
	return 0;
}

int
places_find(const struct options *opt, struct ats_places *ret, struct ats_homes *ret_homes,
    struct ats_err *err)
{
	int rc = 0;

	if (opt->system)
		ats_places_system(ret);
	else
		rc = ats_places_find(ret, err);
	if (rc < 0 && opt->runtime != NULL && opt->state != NULL) {
		/* All that HOME would have told is given. */
		*err = (struct ats_err){ 0 };
		rc = 0;
		if (opt->config != NULL)
			ret->config[0] = '\0';
		(void)snprintf(ret->config, sizeof(ret->config), "%s", opt->state);
	}
	if (rc == 0)
		rc = take_dir(ret->runtime, opt->runtime, err);
	if (rc == 0)
		rc = take_dir(ret->state, opt->state, err);
	/* Those of the system are its users', and who looks at its configuration may be anybody. */
	if (rc == 0 && !(opt->system && opt->check_only)) {
		rc = opt->system ? ats_places_make_shared(ret->runtime, err) :
		    ats_places_make(ret->runtime, err);
		if (rc == 0)
			rc = ats_places_make(ret->state, err);
	}
	if (rc == 0)
		rc = ats_homes_find(ret_homes, ret, err);
	return rc;
}
