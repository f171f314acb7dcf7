/* SPDX-License-Identifier: Apache-2.0
 *
 * ats-hands take-key: puts a key where a hands of this machine waits for it (--key-wait). It is
 * what a cluster's exec runs in a pod that was started before anybody knew whose it will be. */
#ifndef ATS_HANDS_INIT_TAKE_KEY_H
#define ATS_HANDS_INIT_TAKE_KEY_H

/* argv[0] is "take-key", argv[1] the file. First it prints one line: "has SANDBOX" when there is a
 * key already, which ends it, or "wants". Then it reads the key's line, and maybe one of the
 * workspace, up to an empty line or the end of its input, puts them there whole and prints "took
 * SANDBOX"; or "has SANDBOX" when another was faster. Exits 0 after these, 1 when it cannot, with
 * nothing changed and a line on standard error without a part of the key, 2 for wrong usage. */
int take_key_main(int argc, char **argv);

#endif
