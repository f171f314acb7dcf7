# SPDX-License-Identifier: Apache-2.0
#
# Fuzz targets: what each aims at, libFuzzer programs (clang), replayers of the corpora (any
# compiler), and which lines of the aim a corpus covers (clang and llvm). Included by
# tests/rules.mk.

# ---- the files that a target aims at; its corpus must cover FUZZ_COVER percent of each ----
AIM_canon := brain/policy/canon.c brain/policy/canon_number.c
AIM_capture := hands/front/capture.c
AIM_client := brain/client/answer.c brain/client/ctx.c
AIM_edit := hands/fs/match_edit.c hands/fs/diff.c
AIM_frame := common/frame.c proto/frames.c
AIM_gateway_tool := brain/engine/gateway_tool.c
AIM_gateway := brain/gateway/sse.c brain/gateway/encode.c brain/gateway/mask.c brain/gateway/result.c \
	brain/gateway/mcp_tools.c brain/gateway/mcp_content.c
AIM_gateway_config := proto/gateway_config.c proto/gateway_config_read.c proto/gateway_config_tool.c \
	proto/gateway_config_url.c proto/gateway_template.c proto/gateway_config_file.c
AIM_glob := hands/match/glob.c hands/match/glob_braces.c hands/match/glob_name.c \
	hands/match/glob_seq.c
AIM_hooks := proto/hook_config.c proto/hook_match.c proto/hook_output.c proto/hook_events.c
AIM_http := common/http_head.c brain/http/gate.c brain/http/message.c brain/http/modern.c
AIM_ignore := hands/match/ignore.c
AIM_image := hands/fs/image.c hands/fs/image_jpeg.c hands/fs/image_web.c
AIM_job := hands/worker/job.c
AIM_json := common/json.c common/json_names.c common/json_read.c common/json_write.c \
	common/json_comment.c common/utf8.c
AIM_mcp := brain/engine/mcp_era.c brain/engine/mcp_listen.c
AIM_notebook := hands/fs/notebook.c hands/fs/notebook_find.c hands/fs/notebook_cell.c
AIM_place := hands/fs/place.c
AIM_policy := brain/policy/rules.c brain/policy/rules_read.c brain/policy/rules_bash.c \
	brain/policy/rules_command.c brain/policy/rules_word.c brain/policy/rules_wrap.c \
	brain/policy/rules_pattern.c brain/policy/rules_path.c
AIM_record := hands/front/record.c hands/front/calls_move.c hands/front/shell_move.c hands/front/spill_move.c \
	hands/front/bash_move.c hands/front/background_move.c hands/front/exec_move.c
AIM_regex := hands/match/regex.c hands/match/regex_syntax.c hands/match/regex_escape.c \
	hands/match/regex_class.c hands/match/regex_words.c hands/match/literal.c
AIM_relaydir := proto/relaydir.c proto/specs.c
AIM_rounds := brain/ctl/mcp_rounds.c brain/ctl/mcp_retry.c brain/ctl/mcp_state.c brain/ctl/mcp_meta.c \
	brain/ctl/mcp_envelope.c
AIM_shim := hands/shim/rpc.c hands/shim/methods.c hands/shim/calls.c
AIM_text := hands/fs/text.c hands/tools/read_lines.c
AIM_toolinput := proto/msg.c proto/msg_wrong.c proto/msg_encode.c proto/tools.c
AIM_worker := hands/front/worker_io.c hands/front/pool.c hands/front/pool_zygote.c
AIM_ws := common/ws.c common/ws_http.c
FUZZ_COVER ?= 85
# What models, repositories and files say: these get FUZZ_TIME seconds, the others FUZZ_REST.
FUZZ_FIRST := edit glob ignore notebook toolinput
FUZZ_TIME ?= 60
FUZZ_REST ?= $(FUZZ_TIME)

FUZZ_C := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_FOUND := $(FUZZ_C:tests/fuzz/fuzz_%.c=%)
FUZZ := $(FUZZ_FIRST) $(filter-out $(FUZZ_FIRST),$(FUZZ_FOUND))
fuzz_of = $(patsubst tests/fuzz/fuzz_%.c,%,$(shell grep -l '^\#include "$(1)/' $(FUZZ_C) /dev/null))
FUZZ_HANDS := $(call fuzz_of,hands)
FUZZ_ENGINE := $(call fuzz_of,brain/engine)
FUZZ_VAULT := $(call fuzz_of,brain/vault)
FUZZ_HTTP := $(call fuzz_of,brain/http)
FUZZ_GATEWAY := $(call fuzz_of,brain/gateway)
FUZZ_CLIENT := $(call fuzz_of,brain/client)
FUZZ_CTL := $(call fuzz_of,brain/ctl)

# ---- replayers: part of make check --------------------------------------------------------
REPLAYS := $(FUZZ:%=$(O)/tests/fuzz/replay_%)
$(FUZZ_HANDS:%=$(O)/tests/fuzz/replay_%): $(O)/libhands.a
$(FUZZ_ENGINE:%=$(O)/tests/fuzz/replay_%): $(O)/libengine.a
$(FUZZ_VAULT:%=$(O)/tests/fuzz/replay_%): $(O)/libvault.a
$(FUZZ_HTTP:%=$(O)/tests/fuzz/replay_%): $(O)/libhttp.a
$(FUZZ_GATEWAY:%=$(O)/tests/fuzz/replay_%): $(O)/libgateway.a
$(FUZZ_CLIENT:%=$(O)/tests/fuzz/replay_%): $(O)/libclient.a
$(FUZZ_CTL:%=$(O)/tests/fuzz/replay_%): $(O)/libctl.a
$(REPLAYS): $(O)/tests/fuzz/replay_%: $(O)/tests/fuzz/fuzz_%.o $(O)/tests/fuzz/replay_main.o \
    $(O)/libcommon.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) \
		$(filter-out %/libcommon.a,$(filter %.a,$^)) $(O)/libcommon.a $(TEST_LIBS)

# ---- libFuzzer: objects of their own, once for all targets --------------------------------
FUZZERS := $(FUZZ:%=$(BUILD)/fuzz/fuzz_%)
# Allocations can be made to fail (common/fault.h): an input says which.
FUZZ_CFLAGS := -I. -D_GNU_SOURCE -std=gnu17 -g -O1 -MMD -MP -DATS_FAULT \
	-DATS_VERSION='"$(VERSION)"' -DATS_LIBEXECDIR='"$(LIBEXECDIR)"' -DATS_BINDIR='"$(BINDIR)"'
FUZZ_SANITIZE := -DATS_SANITIZE -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=undefined
fuzz_objects = $(patsubst $(O)/%,$(BUILD)/fuzz/o/%,$(call existing,$(1)))
$(BUILD)/fuzz/o/%.o: %.c
	@mkdir -p $(@D)
	$(Q)clang $(FUZZ_CFLAGS) $(FUZZ_SANITIZE) -c -o $@ $<
$(BUILD)/fuzz/libcommon.a: $(call fuzz_objects,$(LIB_COMMON))
	$(ar)
$(BUILD)/fuzz/libhands.a: $(call fuzz_objects,$(LIB_HANDS))
	$(ar)
$(BUILD)/fuzz/libengine.a: $(call fuzz_objects,$(LIB_ENGINE))
	$(ar)
$(BUILD)/fuzz/libvault.a: $(call fuzz_objects,$(LIB_VAULT))
	$(ar)
$(BUILD)/fuzz/libgateway.a: $(call fuzz_objects,$(LIB_GATEWAY))
	$(ar)
$(BUILD)/fuzz/libclient.a: $(call fuzz_objects,$(LIB_CLIENT))
	$(ar)
$(BUILD)/fuzz/libctl.a: $(call fuzz_objects,$(LIB_CTL))
	$(ar)
$(BUILD)/fuzz/libhttp.a: $(call fuzz_objects,$(LIB_HTTP))
	$(ar)
$(FUZZ_HANDS:%=$(BUILD)/fuzz/fuzz_%): $(BUILD)/fuzz/libhands.a
$(FUZZ_ENGINE:%=$(BUILD)/fuzz/fuzz_%): $(BUILD)/fuzz/libengine.a
$(FUZZ_VAULT:%=$(BUILD)/fuzz/fuzz_%): $(BUILD)/fuzz/libvault.a
$(FUZZ_HTTP:%=$(BUILD)/fuzz/fuzz_%): $(BUILD)/fuzz/libhttp.a
$(FUZZ_GATEWAY:%=$(BUILD)/fuzz/fuzz_%): $(BUILD)/fuzz/libgateway.a
$(FUZZ_CLIENT:%=$(BUILD)/fuzz/fuzz_%): $(BUILD)/fuzz/libclient.a
$(FUZZ_CTL:%=$(BUILD)/fuzz/fuzz_%): $(BUILD)/fuzz/libctl.a
$(FUZZERS): $(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/o/tests/fuzz/fuzz_%.o $(BUILD)/fuzz/libcommon.a
	$(Q)clang -fsanitize=fuzzer,address,undefined $(LDFLAGS_fault) -o $@ $(filter %.o,$^) \
		$(filter-out %/libcommon.a,$(filter %.a,$^)) $(BUILD)/fuzz/libcommon.a $(TEST_LIBS)
-include $(shell find $(BUILD)/fuzz/o $(BUILD)/cover/o -name '*.d' 2>/dev/null)

# ---- coverage: what is aimed at with clang's counters, the rest from the archives ---------
COVERS := $(FUZZ:%=$(BUILD)/cover/replay_%)
COVER_FLAGS := -fprofile-instr-generate -fcoverage-mapping
$(BUILD)/cover/o/%.o: %.c
	@mkdir -p $(@D)
	$(Q)clang $(FUZZ_CFLAGS) $(COVER_FLAGS) -c -o $@ $<
$(FUZZ_HANDS:%=$(BUILD)/cover/replay_%): $(O)/libhands.a
$(FUZZ_ENGINE:%=$(BUILD)/cover/replay_%): $(O)/libengine.a
$(FUZZ_VAULT:%=$(BUILD)/cover/replay_%): $(O)/libvault.a
$(FUZZ_HTTP:%=$(BUILD)/cover/replay_%): $(O)/libhttp.a
$(FUZZ_GATEWAY:%=$(BUILD)/cover/replay_%): $(O)/libgateway.a
$(FUZZ_CLIENT:%=$(BUILD)/cover/replay_%): $(O)/libclient.a
$(FUZZ_CTL:%=$(BUILD)/cover/replay_%): $(O)/libctl.a
cover_objects = $(patsubst %.c,$(BUILD)/cover/o/%.o,$(AIM_$(1)) tests/fuzz/fuzz_$(1).c \
	tests/fuzz/replay_main.c common/fault.c)
define cover_program
$(BUILD)/cover/replay_$(1): $(call cover_objects,$(1)) $(O)/libcommon.a
	$(Q)clang $(COVER_FLAGS) $(LDFLAGS_fault) -o $$@ $$(sort $$(filter %.o,$$^)) \
		$$(filter-out %/libcommon.a,$$(filter %.a,$$^)) $(O)/libcommon.a $(TEST_LIBS)
endef
$(foreach t,$(FUZZ),$(eval $(call cover_program,$(t))))

# ---- what to call: make -j2 -O fuzz runs two at a time --------------------------------------
.PHONY: fuzz fuzz-coverage fuzz-merge $(FUZZ:%=fuzz-%)
fuzz: $(FUZZ:%=fuzz-%)
$(FUZZ:%=fuzz-%): fuzz-%: $(BUILD)/fuzz/fuzz_%
	$(Q)tests/fuzz/run $< $* $(if $(filter $*,$(FUZZ_FIRST)),$(FUZZ_TIME),$(FUZZ_REST))
fuzz-coverage: $(COVERS)
	$(Q)tests/fuzz/coverage $(BUILD)/cover $(FUZZ_COVER) \
		$(foreach t,$(FUZZ),$(t):$(subst $(eval ) ,:,$(strip $(AIM_$(t)))))
# What make fuzz found goes into the corpora, as far as it covers something new.
fuzz-merge: $(FUZZERS)
	$(Q)for t in $(FUZZ); do tests/fuzz/merge $(BUILD)/fuzz/fuzz_$$t $$t || exit 1; done
