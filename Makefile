# SPDX-License-Identifier: Apache-2.0
#
# One non-recursive Makefile. Each program has an explicit object list: what is not listed
# cannot run in its address space. `make help` lists the targets.

VARIANT ?= release
BUILD ?= build
O := $(BUILD)/$(VARIANT)
CC ?= gcc
PKG := pkg-config
OBJCOPY ?= objcopy
V ?= 0
Q := $(if $(filter 1,$(V)),,@)

comma := ,
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec/ats
VERSION := 0.1.0

# ---- flags; each -W is probed, since compilers differ ------------------------------
WARN_WANTED := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion \
	-Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wformat=2 -Wcast-qual \
	-Wimplicit-fallthrough -Wjump-misses-init -Wnull-dereference -Wwrite-strings
HARDEN_WANTED := -fstack-protector-strong -fstack-clash-protection -fcf-protection=full \
	-ftrivial-auto-var-init=zero
probe = $(shell for f in $(1); do echo 'int x;' | $(CC) -Werror $$f -x c -c - -o /dev/null \
	2>/dev/null && echo $$f; done)
PROBED := $(O)/flags.mk
-include $(PROBED)

CPPFLAGS := -I. -D_GNU_SOURCE -DATS_VERSION='"$(VERSION)"' -DATS_LIBEXECDIR='"$(LIBEXECDIR)"' \
	-MMD -MP
# Who builds without TLS wants a small program, for an image of nothing else.
SMALL := $(if $(filter no,$(TLS)),-Os -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections,-O2)
CFLAGS_release := $(SMALL) -g -D_FORTIFY_SOURCE=2 $(HARDEN)
CFLAGS_debug := -O0 -g -DATS_DEBUG
CFLAGS_asan := -O1 -g -DATS_DEBUG -DATS_FAULT -DATS_SANITIZE -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined -fno-omit-frame-pointer
CFLAGS_fault := -O0 -g -DATS_DEBUG -DATS_FAULT
CFLAGS := -std=gnu17 $(WARN) $(CFLAGS_$(VARIANT)) $(if $(DEVELOPER),-Werror)
LDFLAGS_release := $(if $(filter no,$(TLS)),-Wl$(comma)--gc-sections) -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--build-id=sha1
# common/fault.c stands before the allocator.
LDFLAGS_fault := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=strdup,--wrap=strndup
LDFLAGS_asan := -fsanitize=address,undefined $(LDFLAGS_fault)
LDFLAGS := $(LDFLAGS_$(VARIANT))
# The sanitizers' runtimes cannot be linked statically. libevent's name look-ups, which nothing
# here calls, make ld warn of a static glibc: these lines are left out. (ld's own --no-warnings
# lets undefined symbols pass as well, binutils 2.40.)
STATIC := $(if $(filter asan,$(VARIANT)),,-static)
STATIC_GLIBC := in statically linked applications requires|: in function `

# ---- libraries ---------------------------------------------------------------------
LIBS_EVENT := -levent_core
LIBS_DIAL := -levent_extra
LIBS_JSON := -ljson-c
LIBS_CONFINE := -lseccomp
LIBS_CRYPTO := -lcrypto
LIBS_TLS = $(if $(filter no,$(TLS)),,-lssl) $(LIBS_CRYPTO)
LIBS_SQLITE := -lsqlite3
LIBS_PCRE := -lpcre2-8
LIBS_CURL := -lcurl

# ---- objects -----------------------------------------------------------------------
COMMON := err buf base64 notify log addr json json_names json_read json_write utf8 frame clock map digest path fd fault logfmt options
COMMON_O := $(COMMON:%=common/%.o)
CHAN_O := common/chan.o common/chan_send.o common/chan_read.o common/stream.o common/hold.o common/wire.o \
	common/wire_plain.o common/wire_ws.o common/ws.o common/ws_http.o common/http_head.o
# TLS=no: without libssl, and with most of libcrypto left out of ats-hands. Give it a BUILD of its own.
TLS ?= yes
TLS_PIN_O := $(if $(filter no,$(TLS)),common/tls_none.o,common/tls_pin.o)
TLS_O := $(TLS_PIN_O) $(if $(filter no,$(TLS)),,common/tls.o common/wire_tls.o)
DIAL_O := common/dial.o common/proxy.o common/proxy_ask.o
ACCEPT_O := common/acceptor.o
IPC_O := common/ipc.o
CHILD_O := common/child.o common/child_tree.o common/tree.o
CONF_O := common/conf.o common/json_comment.o
TREE_O := common/json_tree.o
CONFINE_O := common/confine/base.o common/confine/caps.o common/confine/seccomp.o common/confine/landlock.o \
	common/confine/limits.o common/confine/daemon.o common/confine/seccomp_check.o
# pure: who may call what. The rules are looked at by the engine, too.
RULES_O := brain/policy/rules.o brain/policy/rules_read.o brain/policy/rules_command.o \
	brain/policy/rules_bash.o brain/policy/rules_word.o brain/policy/rules_wrap.o \
	brain/policy/rules_pattern.o brain/policy/rules_path.o
POLICY_O := $(RULES_O) brain/policy/canon.o brain/policy/canon_number.o brain/policy/grants.o \
	brain/policy/approvals.o
METRICS_O := proto/metrics.o proto/timings.o
PROTO_O := proto/msg.o proto/msg_wrong.o proto/msg_encode.o proto/frames.o proto/ctx.o proto/tools.o proto/prove.o
RELAYDIR_O := proto/relaydir.o proto/specs.o
# hooks: their configuration, their matchers, what they answer
HOOKS_O := proto/hook_events.o proto/hook_config.o proto/hook_match.o

BRAIN_O := $(COMMON_O) $(ACCEPT_O) $(DIAL_O) common/http_head.o $(TLS_PIN_O) $(IPC_O) $(CONF_O) $(CONFINE_O) $(POLICY_O) $(CHILD_O) common/secret.o common/workspace.o \
	proto/brain.o brain/vault/main.o brain/vault/options.o brain/vault/places.o brain/vault/lock.o brain/vault/format.o \
	brain/vault/confine.o brain/vault/vault.o brain/vault/engine.o brain/vault/engine_tell.o brain/vault/boxes.o \
	brain/vault/scripts.o brain/vault/clients.o brain/vault/client_status.o brain/vault/spawner.o brain/vault/children.o \
	brain/vault/systemd.o brain/vault/sockets.o brain/vault/outside.o brain/vault/register.o \
	brain/vault/keys.o brain/vault/lines.o brain/vault/links.o \
	brain/vault/config.o brain/vault/config_line.o brain/vault/permissions.o brain/vault/provider.o brain/vault/remote.o brain/vault/dialer.o \
	brain/vault/toolchains.o brain/vault/hooks.o brain/vault/keeper.o
# one gateway of the configuration
GW_CONFIG_O := proto/gateway_config.o proto/gateway_config_read.o proto/gateway_config_tool.o \
	proto/gateway_config_url.o proto/gateway_template.o proto/gateway_config_file.o
BRAIN_O += $(GW_CONFIG_O) brain/vault/sources.o brain/vault/said.o brain/vault/credentials.o \
	brain/vault/credential_file.o brain/vault/credential_reading.o brain/vault/credential_mask.o \
	brain/vault/helpers.o brain/vault/http.o brain/vault/http_config.o brain/vault/gateway.o brain/vault/gateway_in.o brain/vault/gateway_out.o brain/vault/gateway_tools.o brain/vault/audit.o brain/vault/args.o brain/vault/ask_files.o \
	brain/vault/decide.o brain/vault/asks.o brain/vault/approve.o brain/vault/follow.o
BRAIN_O += $(HOOKS_O)
ENGINE := provider provider_kept provider_remove script script_line answer arrivals batch cache call call_ask call_end call_resume call_waiters calls calls_fds calls_rpc client client_calls confine control ctx ctx_host dispatch dispatch_lost \
	door engine events gateway_call gateway_ends gateway_files gateway_link gateway_shown gateway_tool gateway_tools hooks hooks_box hooks_call hooks_after hooks_host hooks_rpc hooks_say toolset exec exec_out exec_stdin link link_frames link_hello main mcp mcp_headers mcp_era mcp_list options observe mcp_listen outcome permit proof refused relay rpc sandbox sandboxes sandbox_log sandbox_net service sessions sessions_table settings store store_db \
	store_calls store_made store_sessions turns upgrade vault_link vault_link_say control_seen control_box control_inspect control_write
ENGINE_O := $(COMMON_O) $(ACCEPT_O) $(CHAN_O) $(TLS_O) $(IPC_O) $(CONFINE_O) $(PROTO_O) $(METRICS_O) $(HOOKS_O) proto/hook_output.o $(RULES_O) common/secret.o proto/brain.o \
	$(ENGINE:%=brain/engine/%.o)
# file work beneath the roots, and the tools that read and change files
FS_O := hands/fs/place.o hands/fs/open.o hands/fs/nearest.o hands/fs/protected.o hands/fs/hidden.o \
	hands/fs/target.o hands/fs/parent.o hands/fs/replace.o hands/fs/inplace.o hands/fs/saved.o hands/fs/meta.o \
	hands/fs/text.o hands/fs/notebook.o hands/fs/notebook_find.o hands/fs/notebook_cell.o hands/fs/match_edit.o hands/fs/diff.o hands/fs/image.o \
	hands/fs/image_jpeg.o hands/fs/image_web.o hands/fs/pdf.o \
	hands/tools/result.o hands/tools/change.o hands/tools/read.o hands/tools/read_lines.o hands/tools/read_kind.o \
	hands/tools/notebook_show.o hands/tools/write.o hands/tools/edit.o \
	hands/tools/edit_retry.o hands/tools/edit_text.o hands/tools/multi_edit.o \
	hands/tools/notebook_edit.o hands/tools/ls.o hands/tools/hooks.o
# searching: Grep and Glob
MATCH := glob glob_braces glob_name glob_seq ignore gitrepo gitconfig literal regex regex_syntax regex_escape regex_class regex_words regex_tail walk walk_dir types filter \
	search search_show report report_write
MATCH_O := $(MATCH:%=hands/match/%.o) hands/tools/grep.o hands/tools/glob.o
FRONT := front front_options keys link link_frames link_peer link_prove link_accept calls calls_frames call_answer pool pool_zygote worker_io tool_call \
	render render_answer data shell shell_pipe capture outcome spill spill_store bash bash_text bash_image bash_notes bash_move \
	exec exec_out exec_stdin exec_move background background_ask background_text background_move bash_output kill_shell \
	task_output task_stop hook report record upgrade takeover calls_move shell_move spill_move gateway gateway_peer delivery
FRONT_O := $(FRONT:%=hands/front/%.o) hands/key.o common/secret.o hands/tools/bash.o hands/tools/bash_output.o
BOX_O := hands/init/options.o hands/init/options_values.o hands/init/keys.o hands/init/key_wait.o hands/init/take_key.o hands/init/launcher.o hands/init/launch.o hands/init/places.o hands/init/tools_place.o hands/init/relay.o \
	hands/init/accept.o hands/init/dialer.o hands/init/attach.o hands/init/goodbye.o \
	hands/init/scratch.o hands/init/init.o hands/init/init_roles.o hands/init/next.o hands/init/newest.o hands/init/start.o hands/init/command.o hands/init/mounts.o \
	hands/init/wait.o hands/init/worker_id.o hands/init/bare_state.o hands/worker/zygote.o hands/worker/worker.o hands/worker/worker_answer.o \
	hands/worker/job.o hands/worker/warm.o hands/worker/monitor.o \
	hands/worker/monitor_limits.o hands/worker/command.o hands/worker/shell.o hands/worker/ender.o \
	hands/worker/tty.o hands/confine/own_sockets.o hands/confine/own_place.o hands/confine/box.o hands/confine/ns.o hands/confine/mnt.o \
	hands/confine/view.o hands/confine/trees.o hands/confine/shellview.o hands/confine/scan.o hands/confine/scan_denied.o hands/confine/users.o \
	hands/confine/filters.o hands/confine/apply.o hands/confine/vector.o \
	hands/confine/selftest.o hands/confine/selftest_checks.o hands/confine/selftest_shell.o hands/confine/probe.o hands/confine/guard.o hands/confine/guard_look.o hands/confine/guard_find.o hands/confine/protect.o hands/confine/worktree.o \
	hands/confine/made.o hands/confine/made_config.o hands/confine/keep.o hands/confine/keep_take.o hands/confine/keep_same.o hands/confine/keep_move.o hands/confine/budget.o hands/confine/budget_disk.o hands/confine/cgroup.o \
	hands/confine/cgroup_find.o
SHIM := main rpc methods calls out relay_socket relay_dir
SHIM_O := $(SHIM:%=hands/shim/%.o)
HANDS_O := $(COMMON_O) $(ACCEPT_O) $(CHAN_O) $(TLS_O) $(DIAL_O) $(CONFINE_O) $(PROTO_O) $(HOOKS_O) $(RELAYDIR_O) $(CHILD_O) \
	hands/main.o hands/registry.o $(BOX_O) $(FS_O) $(MATCH_O) $(FRONT_O) $(SHIM_O)
CTL := main commands data options output render run query start leave ask door session io streams tty exit_code \
	mcp_client mcp_engine mcp_envelope mcp_lines mcp_lost mcp_meta mcp_elicit mcp_state mcp_rounds mcp_retry mcp_asks safe approval audit calling waits cmd_approvals cmd_approve cmd_audit cmd_call cmd_completion \
	cmd_config cmd_credential cmd_deny cmd_doctor cmd_events cmd_exec cmd_gateway cmd_inspect \
	cmd_mcp cmd_relay cmd_sandbox cmd_session cmd_shutdown cmd_status cmd_version health \
	relay_calls relay_confine relay_dir relay_door relay_serve cmd_top cmd_metrics top_screen
GATEWAY := main kinds vault_link orders results result mask encode address confine fetch fetch_request fetch_redirect fetch_loop renewal \
	kind_http http_answer kind_command program program_env kind_mcp mcp_answers mcp_requests mcp_message mcp_tools mcp_content \
	mcp_stdio mcp_http sse
GATEWAY_O := $(COMMON_O) $(CHAN_O) $(TLS_O) $(IPC_O) $(CONFINE_O) $(PROTO_O) $(GW_CONFIG_O) $(CHILD_O) \
	common/secret.o proto/brain.o $(GATEWAY:%=brain/gateway/%.o)
ATSCTL_O := $(COMMON_O) $(IPC_O) $(TREE_O) $(CONFINE_O) $(RELAYDIR_O) common/json_comment.o $(CHILD_O) proto/brain.o proto/unsure.o \
	$(CTL:%=brain/ctl/%.o)

HTTP := main options token listen conn conn_out gate mcp message modern session exchange stream caller events link confine metrics
HTTP_O := $(COMMON_O) $(ACCEPT_O) $(METRICS_O) $(IPC_O) $(CONFINE_O) common/http_head.o common/secret.o common/workspace.o proto/brain.o proto/unsure.o \
	$(HTTP:%=brain/http/%.o)

# libats, for agent runtimes: only what brain/client/ats.h names is seen from outside.
LIBATS_ABI := 0
CLIENT := servable session open ask calls wait answer ctx plan
LIBATS_O := common/err.o common/buf.o common/json.o common/json_names.o common/json_read.o \
	common/json_write.o common/utf8.o common/clock.o common/path.o common/fd.o $(CHILD_O) \
	common/fault.o proto/msg.o proto/msg_wrong.o proto/ctx.o proto/tools.o $(CLIENT:%=brain/client/%.o)
LIBATS := $(BUILD)/libats.a $(BUILD)/libats.so

PROGRAMS := $(BUILD)/ats-brain $(BUILD)/ats-engine $(BUILD)/ats-gateway $(BUILD)/ats-http \
	$(BUILD)/ats-hands $(BUILD)/atsctl

.PHONY: all clean help
all: $(PROGRAMS) $(LIBATS)

# What a worker touches lies side by side in the program, where the linker can do that.
ORDER_LD := hands/worker/order.ld
$(PROBED): $(ORDER_LD)
	@mkdir -p $(@D)
	@echo 'WARN := $(call probe,$(WARN_WANTED))' > $@
	@echo 'HARDEN := $(call probe,$(HARDEN_WANTED))' >> $@
	@echo 'ORDER := $(shell echo 'int main(void) { return 0; }' | $(CC) $(LDFLAGS) -x c - -o /dev/null \
		-Wl,-T,$(ORDER_LD) 2>/dev/null && echo -Wl,-T,$(ORDER_LD))' >> $@

$(O)/%.o: %.c | $(PROBED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

# A library's objects are built apart from those of the programs.
$(O)/pic/%.o: %.c | $(PROBED)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -DATS_BINDIR='"$(BINDIR)"' $(CFLAGS) -fPIC -fvisibility=hidden \
		-ffunction-sections -fdata-sections -c $< -o $@

link = $(Q)$(CC) $(CFLAGS) $(LDFLAGS) $(1) -o $@ $(filter %.o,$^) $(2) 2> $@.said; rc=$$?; \
	grep -Ev '$(STATIC_GLIBC)' $@.said >&2; rm -f $@.said; exit $$rc

# What is linked, for the bill of materials as well.
LIBS_BRAIN := $(LIBS_DIAL) $(LIBS_EVENT) $(LIBS_JSON) $(LIBS_CONFINE) $(LIBS_CRYPTO) $(LIBS_PCRE)
LIBS_ENGINE := $(LIBS_EVENT) $(LIBS_CONFINE) $(LIBS_TLS) $(LIBS_SQLITE) $(LIBS_PCRE)
$(O)/ats-brain: $(addprefix $(O)/,$(BRAIN_O))
	$(call link,,$(LIBS_BRAIN))
$(O)/ats-engine: $(addprefix $(O)/,$(ENGINE_O))
	$(call link,,$(LIBS_ENGINE))
$(O)/ats-gateway: $(addprefix $(O)/,$(GATEWAY_O))
	$(call link,,$(LIBS_EVENT) $(LIBS_CONFINE) $(LIBS_TLS) $(LIBS_CURL))
$(O)/ats-http: $(addprefix $(O)/,$(HTTP_O))
	$(call link,,$(LIBS_EVENT) $(LIBS_CONFINE) $(LIBS_CRYPTO))
$(O)/ats-hands: $(addprefix $(O)/,$(HANDS_O)) $(ORDER_LD)
	$(call link,$(STATIC) $(ORDER),$(LIBS_DIAL) $(LIBS_EVENT) $(LIBS_PCRE) $(LIBS_CONFINE) $(LIBS_TLS) -lpthread)
$(O)/atsctl: $(addprefix $(O)/,$(ATSCTL_O))
	$(call link,$(STATIC),$(LIBS_JSON) $(LIBS_CONFINE) $(LIBS_CRYPTO))

LIBATS_MAP := brain/client/libats.map
$(O)/libats.so.$(VERSION): $(addprefix $(O)/pic/,$(LIBATS_O)) $(LIBATS_MAP)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libats.so.$(LIBATS_ABI) \
		-Wl,--version-script=$(LIBATS_MAP) -Wl,--gc-sections -Wl,-z,defs -o $@ $(filter %.o,$^)
$(BUILD)/libats.so: $(O)/libats.so.$(VERSION)
	@cp -f $< $(BUILD)/libats.so.$(VERSION)
	@ln -sf libats.so.$(VERSION) $(BUILD)/libats.so.$(LIBATS_ABI)
	@ln -sf libats.so.$(LIBATS_ABI) $@
# One object: names that the header does not have are no longer names of the program's.
$(BUILD)/libats.a: $(addprefix $(O)/pic/,$(LIBATS_O))
	$(Q)$(LD) -r $(subst $(comma), ,$(patsubst -Wl$(comma)%,%,$(filter -Wl$(comma)--wrap%,$(LDFLAGS)))) \
		-o $(O)/libats.o $^ && $(OBJCOPY) --localize-hidden $(O)/libats.o
	$(Q)rm -f $@ && ar rcs $@ $(O)/libats.o

$(BUILD)/%: $(O)/%
	@cp -f $< $@
# It goes into images: symbols stay in the folder of the variant.
$(BUILD)/ats-hands: $(O)/ats-hands
	@$(if $(filter release,$(VARIANT)),strip -o $@ $<,cp -f $< $@)

# The example runtimes: against the shared library, the static one, and in JavaScript; and what
# counts the instructions of the interceptor.
EXAMPLES := $(addprefix $(BUILD)/example/,runtime runtime-static runtime.mjs) \
	$(addprefix $(BUILD)/bench/,interceptor interceptor-static)
example = $(Q)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE -Wall -Wextra $(CFLAGS_$(VARIANT)) \
	$(filter -fsanitize%,$(LDFLAGS)) -Ibrain/client -o $@ $< $(1)
$(BUILD)/example/runtime: tests/example/runtime.c brain/client/ats.h $(BUILD)/libats.so
	$(call example,-L$(BUILD) -lats -Wl$(comma)-rpath$(comma)'$$ORIGIN/..')
$(BUILD)/example/runtime-static: tests/example/runtime.c brain/client/ats.h $(BUILD)/libats.a
	$(call example,$(BUILD)/libats.a)
$(BUILD)/example/runtime.mjs: tests/example/runtime.mjs
	@mkdir -p $(@D)/node_modules
	@ln -sfn $(abspath packaging/npm) $(@D)/node_modules/agent-tool-server
	@cp -f $< $@

.PHONY: examples
examples: $(EXAMPLES)

# ---- benchmark drivers -------------------------------------------------------------
BENCH_DRIVERS := $(addprefix $(BUILD)/bench/,mcpbench mcpchain mcpstub sink handsstart \
	pingpong linkfloor mcpecho httpbench interceptor interceptor-static)
$(BUILD)/bench/%: tests/bench/%.c tests/bench/bench.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE -I. -O2 -Wall -Wextra -static -o $@ $<

# One tool, no confinement: what the tool itself costs.
$(BUILD)/bench/toolrun: $(addprefix $(O)/,$(COMMON_O) $(PROTO_O) $(HOOKS_O) $(FS_O) $(MATCH_O) \
	hands/registry.o tests/bench/toolrun.o)
	@mkdir -p $(@D)
	$(call link,$(STATIC),$(LIBS_PCRE) $(LIBS_CRYPTO) -lpthread)

# One end of a wire, for tests against other programs.
$(BUILD)/bench/wirepeer: $(addprefix $(O)/,$(COMMON_O) $(CHAN_O) $(TLS_O) $(DIAL_O) common/secret.o \
	tests/lib/wirepeer.o)
	@mkdir -p $(@D)
	$(call link,,$(LIBS_DIAL) $(LIBS_EVENT) $(LIBS_TLS))

# The floor of echoes through a link.
$(BUILD)/bench/linkfloor: $(addprefix $(O)/,$(COMMON_O) $(CHAN_O) $(TLS_O) $(DIAL_O) common/secret.o \
	tests/bench/linkfloor.o)
	@mkdir -p $(@D)
	$(call link,,$(LIBS_DIAL) $(LIBS_EVENT) $(LIBS_TLS))

# The interceptor of libats, through the shared library and the static one.
$(BUILD)/bench/interceptor: tests/bench/interceptor.c brain/client/ats.h $(BUILD)/libats.so
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE -Ibrain/client -O2 -Wall -Wextra -o $@ $< -L$(BUILD) -lats \
		-Wl,-rpath,'$$ORIGIN/..' $(filter -fsanitize%,$(LDFLAGS))
$(BUILD)/bench/interceptor-static: tests/bench/interceptor.c brain/client/ats.h $(BUILD)/libats.a
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE -Ibrain/client -O2 -Wall -Wextra -o $@ $< $(BUILD)/libats.a \
		$(filter -fsanitize%,$(LDFLAGS))

# BENCH_DIR: the folder that tests/bench/setup prepared; BENCH_ARGS: --quick, --only NAME ...
.PHONY: bench
bench: all $(BENCH_DRIVERS)
	$(Q)ATS_BUILD=$(BUILD) tests/bench/run $(if $(BENCH_DIR),--peers $(BENCH_DIR)) $(BENCH_ARGS)

# ---- tests, fuzzing, lint, docs, install ---------------------------------------------
include tests/rules.mk

clean:
	rm -rf $(BUILD)

help:
	@echo 'make [all]         the programs and libats, in build/'
	@echo 'make check         unit tests, vectors, corpora, system tests: quick'
	@echo 'make check-rest    what check leaves out: other users, all rounds; check-full: both'
	@echo 'make check-unit    without the system tests; check-system: only those'
	@echo 'make check-sandbox the sandbox alone; check-contain: only all tries to get out of it'
	@echo 'make check-packages  Debian packages on an empty Debian, units under systemd (root)'
	@echo 'make check-container  the static file in containers of podman and buildah (root)'
	@echo 'make check-diff    the search tools against git, ripgrep, fd and bash: minutes'
	@echo 'make check-long    system tests with all their calls and gigabytes: minutes'
	@echo 'make check-chaos   10,000 calls under kills, cut links, full disks: minutes (SEED=N)'
	@echo 'make check-asan    unit and system tests with AddressSanitizer, LeakSanitizer and UBSan'
	@echo 'make check-fault   failing allocations, short reads and writes'
	@echo 'make check-mutants breaks one rule of the tools at a time: a test must notice'
	@echo 'make check-layers  takes one layer of the confinement away at a time: so must a test'
	@echo 'make check-conformance  the MCP conformance suite over HTTP (npm): minutes'
	@echo 'make check-claude  Claude Code itself (npm) with our tools; nothing leaves the machine'
	@echo 'make check-claude-diff  the same calls through the tools of Claude Code (npm)'
	@echo 'make lint          the rules of the tree; format-check: clang-format'
	@echo 'make fuzz          each target for FUZZ_TIME=60 seconds (clang); -j2: two at a time'
	@echo 'make fuzz-coverage how many lines the fuzz corpora run (clang, llvm)'
	@echo 'make fuzz-merge    takes what make fuzz found into the corpora'
	@echo 'make bench         numbers'
	@echo 'make docs          prints docs/gen from the tables'
	@echo 'make npm           the archive of the npm package, in build/'
	@echo 'make static        whether ats-hands and atsctl are'
	@echo 'make install       into PREFIX=/usr/local below DESTDIR=; uninstall: takes it away'
	@echo 'make dist          the tarball of the sources, the same bytes for the same commit'
	@echo 'make sbom          SPDX document of the libraries, in build/dist'
	@echo 'make deb           Debian packages, in build/deb (PREBUILT=build: of what is built)'
	@echo 'make clean'
	@echo
	@echo 'Variables: BUILD=build VARIANT=release|debug|asan|fault DEVELOPER=1 (warnings are'
	@echo 'errors) V=1 (commands are shown) CC=gcc TLS=no (links without TLS, with a BUILD of its own)'

-include $(shell find $(O) -name '*.d' 2>/dev/null)
