/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the next link of a sandbox comes from. With a script: (sandbox.url) sandboxes are made
 * by it, some of them before they are needed, looked at before they are used, and removed when
 * they are lost or not wanted any more; else the vault knows, and this only asks it. */
#ifndef ATS_ENGINE_PROVIDER_H
#define ATS_ENGINE_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

struct engine;
struct provider;
struct sandbox;

struct provider *provider_new(struct engine *e);	/* owned; NULL without memory */
void provider_free(struct provider *p);
/* A link is wanted; sandbox_on_fd or sandbox_on_failed answers, within provider_start_ms. */
void provider_need(struct sandbox *box);
uint64_t provider_start_ms(const struct sandbox *box);
/* There is no link to what was asked for. True: another one is tried, which is answered. */
bool provider_tries_on(struct sandbox *box);
/* The link is lost. ends: so is the sandbox, as far as we are concerned. */
void provider_lost(struct sandbox *box, bool ends);
/* It is in use: keeps the others warm. Called now and then. */
void provider_used(struct sandbox *box);
/* How many are ready for when it is lost. */
size_t provider_warm(const struct sandbox *box);
/* The name behind "script:" of sandbox.url, or NULL. Borrowed. */
const char *provider_script(const struct engine *e);
/* Nobody wants it any more: all that was made for it is removed. True: so was what provider_need
 * had begun, which is not answered now. */
bool provider_unused(struct sandbox *box);
/* The engine ends: the same for all. True: events will end the loop when it is done, or after
 * PROVIDER_STOP_MS. */
#define PROVIDER_STOP_MS 5000
bool provider_stop(struct engine *e);

#endif
