#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the linker proves: the engine, which reads what sandboxes send, holds no code of the
# vault and cannot start a program; hands holds nothing of brain.
. tests/lint/lib.sh

symbols() {
	test -n "$(nm "$BUILD/release/$1" 2>&1 | grep ' [Tt] main$')" || {
		complain "$BUILD/release/$1 is missing, or has no symbols: run make first"
		return
	}
	# vault_link: the engine's own end of its socket to the vault; the rest is the compiler's
	lines=$(nm "$BUILD/release/$1" | grep -E "$2" |
		grep -vE ' (vault_link_|register_tm_clones|deregister_tm_clones)' | head -n 20)
	test -z "$lines" || complain "$BUILD/release/$1:
$lines"
}
symbols ats-engine ' [A-Za-z] (vault_|credential|config_|children_|spawner_|keys_|links_|register_|workspace_)'
symbols ats-engine ' U (exec[a-z]*|fexecve|fork|vfork|clone|posix_spawnp?|system|popen)(@.*)?$'
symbols ats-engine ' [TtDdBb] (hands_|worker_|zygote_|front_|tool_registry)'
symbols ats-brain ' [TtDdBb] (door_|rpc_|mcp_|store_|dispatch_|front_|zygote_|tool_registry|ats_chan_|ats_msg_)'
symbols ats-brain ' U (sqlite3_|json_tokener_)'
symbols ats-hands ' [TtDdBb] (vault_|engine_new|spawner_|register_new|ctl_|sqlite3_)'
symbols ats-http ' [A-Za-z] (vault_|engine_|spawner_|store_|front_|zygote_|ats_chan_|sqlite3_|SSL_)'
symbols ats-http ' U (exec[a-z]*|fexecve|fork|vfork|clone|posix_spawnp?|system|popen)(@.*)?$'
symbols ats-gateway ' [TtDdBb] (vault_|credentials_|engine_|spawner_|register_|door_|store_|front_|zygote_|sqlite3_)'
symbols atsctl ' [TtDdBb] (vault_|spawner_|zygote_|front_|ats_chan_)'
fix "take the object out of that program's list in the Makefile, and the call out of the code"
