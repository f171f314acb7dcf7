/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that come with a request, and what is made of them: an exec, or the pipe for a
 * tool's bytes. Runs in the engine; descriptors, their names and the words of a command are a
 * client's. They belong to the request that names them: they are taken even when the rest of
 * it is wrong, since left behind they would be the next one's. */
#include "brain/engine/calls_fds.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brain/engine/call_ask.h"
#include "brain/engine/engine.h"
#include "brain/engine/exec.h"
#include "brain/engine/gateway.h"
#include "brain/engine/rpc.h"

#define ARGV_MAX 4096

static int
read_strings(struct ats_slice array, const char *what, size_t max, char **ret, size_t *ret_n,
    struct ats_err *err)
{
	struct ats_json_iter it;
	struct ats_json_val v;
	struct ats_slice key;
	size_t n = 0;

	ats_json_iter_init(&it, array);
	while (ats_json_next(&it, &key, &v)) {
		if (n == max)
			return ats_err_set(err, ATS_E_FIELD, "%s: more than %zu", what, max);
		ret[n] = ats_json_dup_str(&v);
		if (ret[n] == NULL)
			return ats_err_set(err, ATS_E_FIELD, "%s: expected strings", what);
		*ret_n = ++n;
	}
	return 0;
}

void
calls_drop_fds(struct rpc *r)
{
	struct ats_json_val fds, v;
	struct ats_json_iter it;
	struct ats_slice key;
	int fd;

	if (!ats_json_get(r->params, "fds", &fds) || fds.type != ATS_JSON_ARRAY)
		return;
	ats_json_iter_init(&it, fds.raw);
	while (ats_json_next(&it, &key, &v) && client_take_fds(r->client, &fd, 1) == 0)
		(void)close(fd);
}

int
calls_take_data(struct rpc *r, struct call_ask *ask, struct ats_slice fds, struct ats_err *err)
{
	struct exec_ask want = { .fds = { -1, -1, -1 } };
	char *name[1] = { NULL };
	size_t n = 0;
	bool named;
	int rc = read_strings(fds, "fds", 1, name, &n, err);

	named = rc == 0 && n == 1 && strcmp(name[0], "data") == 0;
	free(name[0]);
	if (client_take_fds(r->client, &want.fds[EXEC_STDOUT], 1) < 0)
		return ats_err_set(err, ATS_E_FIELD, "fds: no descriptor came");
	if (!named) {
		rc = ats_err_set(err, ATS_E_FIELD, "fds: expected \"data\" alone");
		calls_drop_fds(r);	/* the others */
	} else if (ask->tool == NULL || (ask->tool->hints & ATS_HINT_DATA) == 0) {
		rc = ats_err_set(err, ATS_E_FIELD, "%s gives no data; Read does",
		    ask->tool != NULL ? ask->tool->name : ask->gateway->name);
	}
	if (rc == 0)
		rc = exec_new(r->e, &want, &ask->exec, err);
	if (rc < 0)
		(void)close(want.fds[EXEC_STDOUT]);
	return rc;
}

static int
take_streams(struct rpc *r, struct ats_slice names, int fds[EXEC_STREAMS],
    struct ats_err *err)
{
	char *name[EXEC_STREAMS] = { NULL };
	enum exec_stream_id id;
	int got[EXEC_STREAMS];
	size_t i, n = 0;
	int rc;

	rc = read_strings(names, "fds", EXEC_STREAMS, name, &n, err);
	if (rc == 0 && client_take_fds(r->client, got, n) < 0)
		rc = ats_err_set(err, ATS_E_FIELD, "fds: fewer descriptors came than are named");
	if (rc < 0)
		calls_drop_fds(r);
	for (i = 0; rc == 0 && i < n; i++) {
		id = exec_stream_of(name[i]);
		if (id == EXEC_STREAMS || fds[id] >= 0) {
			rc = ats_err_set(err, ATS_E_FIELD,
			    "fds: expected stdin, stdout and stderr, each at most once");
			for (; i < n; i++)
				(void)close(got[i]);
		} else {
			fds[id] = got[i];
		}
	}
	for (i = 0; i < EXEC_STREAMS; i++)
		free(name[i]);
	return rc;
}

int
calls_take_exec(struct rpc *r, struct ats_slice argv, struct ats_slice fds, struct exec_ask *ask,
    struct exec **ret, struct ats_err *err)
{
	char **words = calloc(ARGV_MAX, sizeof(*words));
	size_t i, n = 0;
	int rc;

	for (i = 0; i < EXEC_STREAMS; i++)
		ask->fds[i] = -1;
	if (words == NULL) {
		calls_drop_fds(r);
		return ats_err_set(err, ATS_E_NOMEM, "exec");
	}
	rc = read_strings(argv, "argv", ARGV_MAX, words, &n, err);
	if (fds.p != NULL) {
		struct ats_err second = { 0 };
		int rc2 = take_streams(r, fds, ask->fds, &second);

		if (rc == 0 && rc2 < 0) {
			*err = second;
			rc = rc2;
		}
	}
	if (rc == 0 && n == 0)
		rc = ats_err_set(err, ATS_E_FIELD, "argv: empty");
	ask->argv = (const char *const *)words;
	ask->nargv = n;
	if (rc == 0)
		rc = exec_new(r->e, ask, ret, err);
	for (i = 0; rc < 0 && i < EXEC_STREAMS; i++)
		if (ask->fds[i] >= 0)
			(void)close(ask->fds[i]);
	for (i = 0; i < n; i++)
		free(words[i]);
	free(words);
	return rc;
}
