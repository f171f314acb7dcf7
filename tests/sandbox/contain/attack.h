/* SPDX-License-Identifier: Apache-2.0
 *
 * What the attacks share. An attack says what it found, a line a finding:
 *   escaped: WHAT    it worked, or got further than it may
 *   refused: WHAT    it did not
 *   absent: WHAT     there is nothing here to try it on (the check is skipped)
 * Names, ports and addresses of what is attacked come in the environment. */
#ifndef ATS_TESTS_SANDBOX_CONTAIN_ATTACK_H
#define ATS_TESTS_SANDBOX_CONTAIN_ATTACK_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((format(printf, 2, 3))) void say(const char *kind, const char *fmt, ...);
#define ESCAPED(...) say("escaped", __VA_ARGS__)
#define REFUSED(...) say("refused", __VA_ARGS__)
#define ABSENT(...) say("absent", __VA_ARGS__)

/* rc of a system call that must fail, whatever the errno. True when it did not. */
bool must_fail(long rc, const char *what);
/* rc of one that a filter must stop: any errno that only the call itself gives is an escape. */
void must_not_reach(long rc, const char *what);
/* The path must not open so; the null device in its place (a mask) counts as refused. */
void must_not_open(const char *path, int flags);
/* Prints what can be read there; the secret in it is the proof. */
void print_from(int fd);

const char *word(const char *name);	/* of the environment; "" when it is not there */
long number(const char *name);
const char *outside(const char *leaf);	/* below $OUT; valid until the next call */

/* The words after the attack's name. */
extern char **arguments;

#define ATTACK(name) void attack_##name(void);
#include "attacks.def"
#undef ATTACK

#endif
