# SPDX-License-Identifier: Apache-2.0
#
# How tests, fuzz targets, lint and docs are built and run. Included by the Makefile.

# ---- libraries for tests: the objects of the programs without their main() -----------
# Only objects whose source exists: a test can be built before the whole program can.
existing = $(foreach o,$(1),$(if $(wildcard $(o:.o=.c)),$(O)/$(o)))
MAINS := brain/vault/main.o brain/engine/main.o brain/gateway/main.o brain/http/main.o brain/ctl/main.o hands/main.o
LIB_COMMON := $(sort $(COMMON_O) $(TREE_O) $(CHAN_O) $(TLS_O) $(DIAL_O) $(ACCEPT_O) $(IPC_O) $(CONF_O) $(CONFINE_O) $(PROTO_O) $(METRICS_O) \
	$(POLICY_O) $(GW_CONFIG_O) $(RELAYDIR_O) $(HOOKS_O) proto/hook_output.o $(CHILD_O) common/secret.o common/workspace.o proto/brain.o \
	proto/unsure.o)
LIB_HANDS := $(filter-out $(MAINS),$(filter hands/%,$(HANDS_O)))
LIB_ENGINE := $(filter-out $(MAINS),$(filter brain/engine/%,$(ENGINE_O)))
LIB_VAULT := $(filter-out $(MAINS),$(filter brain/vault/%,$(BRAIN_O)))
LIB_GATEWAY := $(filter-out $(MAINS),$(filter brain/gateway/%,$(GATEWAY_O)))
LIB_HTTP := $(filter-out $(MAINS),$(filter brain/http/%,$(HTTP_O)))
LIB_CLIENT := $(CLIENT:%=brain/client/%.o)
$(O)/brain/client/%.o: CPPFLAGS += -DATS_BINDIR='"$(BINDIR)"'
LIB_CTL := $(filter-out $(MAINS),$(filter brain/ctl/%,$(ATSCTL_O)))
ar = $(Q)rm -f $@ && ar rcs $@ $^
$(O)/libcommon.a: $(call existing,$(LIB_COMMON))
	$(ar)
$(O)/libhands.a: $(call existing,$(LIB_HANDS))
	$(ar)
$(O)/libengine.a: $(call existing,$(LIB_ENGINE))
	$(ar)
$(O)/libvault.a: $(call existing,$(LIB_VAULT))
	$(ar)
$(O)/libgateway.a: $(call existing,$(LIB_GATEWAY))
	$(ar)
$(O)/libhttp.a: $(call existing,$(LIB_HTTP))
	$(ar)
$(O)/libclient.a: $(call existing,$(LIB_CLIENT))
	$(ar)
$(O)/libctl.a: $(call existing,$(LIB_CTL))
	$(ar)

# ---- unit tests: a test links with the library whose headers it includes --------------
CHECK_LIBS = $(shell $(PKG) --libs check)
TEST_LIBS := $(LIBS_DIAL) $(LIBS_EVENT) $(LIBS_JSON) $(LIBS_CONFINE) $(LIBS_TLS) $(LIBS_SQLITE) $(LIBS_PCRE) \
	-lpthread
UNIT_C := $(wildcard tests/unit/test_*.c)
UNITS := $(UNIT_C:%.c=$(O)/%) $(O)/tests/proto/test_vectors
includes = $(patsubst %.c,$(O)/%,$(shell grep -l '^\#include "$(1)/' $(UNIT_C) /dev/null))
$(call includes,hands): $(O)/libhands.a
$(call includes,brain/engine): $(O)/libengine.a
$(call includes,brain/vault): $(O)/libvault.a
$(call includes,brain/gateway): $(O)/libgateway.a
$(call includes,brain/http): $(O)/libhttp.a
$(call includes,brain/ctl): $(O)/libctl.a
$(call includes,brain/client): $(O)/libclient.a

$(UNITS): $(O)/%: $(O)/%.o $(O)/libcommon.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(sort $(filter-out %/libcommon.a,$(filter %.a,$^))) \
		-Wl,--start-group $(O)/libcommon.a $(CHECK_LIBS) -Wl,--end-group $(TEST_LIBS)
# libcheck's macros convert with signs.
$(O)/tests/%.o: CFLAGS += -Wno-sign-conversion -Wno-conversion

include tests/fuzz/rules.mk
include tests/conformance/rules.mk

.PHONY: check-diff check check-unit check-system check-long check-sandbox check-asan check-fault lint format-check docs static \
	install uninstall tests faults
tests: $(UNITS) $(REPLAYS)
# check: in less than three minutes of two processors. What has several users, situations or kinds
# is tested in one of them, each test taking the next by turns; what is long is short, or left out
# (tests/lib/ats_base.py). check-rest is what check leaves out, and check-full both. Faults are two
# allocations of each process: of the engine in check, of all in the rest. What takes longest
# comes first. Real containers are a target of their own.
CONTAINERS := $(wildcard tests/sandbox/091*)
SCRIPTS := $(filter-out $(CONTAINERS),$(wildcard tests/system/[0-9]* tests/sandbox/[0-9]* \
	tests/diff/[0-9]*))
FIRST := $(wildcard tests/fault/[0-9]*.py tests/sandbox/0700* tests/system/0720* tests/system/0611* \
	tests/system/0801* tests/system/0717* tests/system/0527* tests/system/0761* \
	tests/sandbox/0610* tests/system/045* tests/system/0540* tests/system/04[0-46-9]* \
	tests/system/0300-h* tests/system/061[02-9]* tests/system/0710* tests/system/051* \
	tests/system/052[0-689]* \
	tests/sandbox/0[19]* tests/system/0545* tests/system/0505* tests/diff/[0-9]*)
longest_first = $(filter $(1),$(FIRST)) $(filter-out $(FIRST),$(1))
JOBS := $(shell nproc 2>/dev/null || echo 2)
FAULT_SHORT ?= 2
faulty = $(MAKE) -s --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS)) \
	VARIANT=fault BUILD=$(BUILD)/fault-out
part = ATS_BUILD=$(abspath $(BUILD)) ATS_FAULT_BUILD=$(abspath $(BUILD))/fault-out \
	ATS_FAULT_SHORT=$(FAULT_SHORT) ATS_PART=$(1) tests/run
FAULT_PY := $(wildcard tests/fault/[0-9]*.py)
.PHONY: check-rest check-full
check: all tests $(BUILD)/bench/toolrun $(BUILD)/bench/wirepeer $(EXAMPLES)
	+$(Q)$(faulty) $(BUILD)/fault-out/ats-engine
	$(Q)$(call part,quick) $(call longest_first,$(SCRIPTS) tests/fault/100-engine.py) $(UNITS) $(REPLAYS)
check-rest: all $(BUILD)/bench/toolrun $(BUILD)/bench/wirepeer $(EXAMPLES)
	+$(Q)$(faulty) all examples
	$(Q)$(call part,rest) $(call longest_first,$(SCRIPTS) $(FAULT_PY))
check-full: all tests $(BUILD)/bench/toolrun $(BUILD)/bench/wirepeer $(EXAMPLES)
	+$(Q)$(faulty) all examples
	$(Q)$(call part,all) $(call longest_first,$(SCRIPTS) $(FAULT_PY)) $(UNITS) $(REPLAYS)
# The static file in containers that buildah makes and podman runs; as root.
.PHONY: check-container
check-container: $(BUILD)/ats-hands
	$(Q)ATS_BUILD=$(abspath $(BUILD)) tests/run -t 300 $(CONTAINERS)
# The Debian packages on an empty Debian, and the units under a real systemd; as root, with
# mmdebstrap and its mirror, or ATS_DEBIAN_ROOT.
.PHONY: check-packages
check-packages: all
	$(Q)ATS_BUILD=$(abspath $(BUILD)) tests/run -j 1 -t 600 $(wildcard tests/packages/[0-9]*)
check-unit: tests
	$(Q)ATS_BUILD=$(abspath $(BUILD)) tests/run $(UNITS) $(REPLAYS)
# The search tools against git, ripgrep, fd and bash, over more trees than check takes.
check-diff: $(BUILD)/bench/toolrun
	$(Q)ATS_ROUNDS=3000 ATS_BUILD=$(abspath $(BUILD)) tests/run -t 1800 \
		$(wildcard tests/diff/[0-9]*)
check-system: all $(BUILD)/bench/wirepeer $(EXAMPLES)
	$(Q)ATS_BUILD=$(abspath $(BUILD)) tests/run $(wildcard tests/system/[0-9]*)
# The same storms with all their calls, 10 GiB of output: some minutes.
LONG := $(wildcard tests/system/041* tests/system/042*)
check-long: all
	$(Q)ATS_LONG=1 ATS_BUILD=$(abspath $(BUILD)) tests/run -j 1 -t 1800 $(LONG)
# Calls under chaos (tests/lib/chaos.py) over unix:, a tenth of them over each other link. SEED=N
# repeats a run's order of events, LINK=WORD takes those whose name holds it.
CALLS ?= 10000
.PHONY: check-chaos
check-chaos: all
	$(Q)ATS_CHAOS=$(CALLS) ATS_SEED=$(SEED) ATS_BUILD=$(abspath $(BUILD)) \
		python3 tests/system/0531-chaos.py $(LINK)
# The box itself, as this user and (for root) as an ordinary one; all checks of the containment
# in each situation, which check takes the quick ones of.
check-sandbox: $(BUILD)/ats-hands
	$(Q)ATS_CONTAIN=all ATS_BUILD=$(abspath $(BUILD)) tests/run -t 600 \
		$(wildcard tests/sandbox/06[5-9]* tests/sandbox/0[0-57-9]* tests/sandbox/06[0-4]*)
# Of these all the checks of the containment only: what check leaves out of the sandbox.
.PHONY: check-contain
check-contain: $(BUILD)/ats-hands
	$(Q)ATS_CONTAIN=all ATS_BUILD=$(abspath $(BUILD)) tests/run -t 600 \
		$(wildcard tests/sandbox/06[5-9]*)
# One layer of the confinement away at a time: a test must fail, a check of the containment
# escape, or an answer of the filters change. LAYERS=WORD takes those whose name holds it.
.PHONY: check-layers
check-layers: all tests
	$(Q)tests/sandbox/layers -b $(BUILD) $(LAYERS)
# Claude Code itself (npm, pinned) with our tools, and a model that the test is.
.PHONY: check-claude
check-claude: all
	$(Q)ATS_BUILD=$(abspath $(BUILD)) tests/run -t 300 $(wildcard tests/claude/[0-9]*)
# Each call of a table through Claude Code's own tools (npm, pinned) and through ours.
.PHONY: check-claude-diff
check-claude-diff: all
	$(Q)ATS_BUILD=$(abspath $(BUILD)) tests/claude-diff/run.py --table \
		$(if $(REPORT),--report $(REPORT))
# All of that with AddressSanitizer, UBSan and LeakSanitizer; common/confine/sanitize.h says
# where the walls are lower then. Sizes and times mean nothing there and are not judged.
check-asan:
	$(Q)$(MAKE) --no-print-directory VARIANT=asan BUILD=$(BUILD)/asan-out all tests \
		$(BUILD)/asan-out/bench/wirepeer examples
	$(Q)ATS_SANITIZED=1 $(MAKE) --no-print-directory VARIANT=asan BUILD=$(BUILD)/asan-out \
		check-unit
	$(Q)ATS_SANITIZED=1 ATS_CALLS=60 ATS_BUILD=$(abspath $(BUILD))/asan-out tests/run -t 400 \
		$(wildcard tests/system/0[0-8]*)
# One rule of the tools broken at a time: the test that is named for it must fail. MUTANTS=WORD
# takes those whose id, file or test holds it.
.PHONY: check-mutants
check-mutants: all tests
	$(Q)tests/mutants/run -b $(BUILD) $(MUTANTS)
# With failing allocations and short reads, under the sanitizers; tests/fault/run says how.
FAULT_C := $(wildcard tests/fault/fault_*.c)
FAULTS := $(FAULT_C:%.c=$(O)/%)
$(patsubst %.c,$(O)/%,$(shell grep -l '^\#include "hands/' $(FAULT_C) /dev/null)): $(O)/libhands.a
$(patsubst %.c,$(O)/%,$(shell grep -l '^\#include "brain/engine/' $(FAULT_C) /dev/null)): \
    $(O)/libengine.a
$(FAULTS): $(O)/%: $(O)/%.o $(O)/libcommon.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(filter-out %/libcommon.a,$(filter %.a,$^)) \
		$(O)/libcommon.a $(TEST_LIBS)
faults: $(FAULTS) $(UNITS)
check-fault:
	$(Q)$(MAKE) --no-print-directory VARIANT=asan BUILD=$(BUILD)/asan-out all faults examples
	$(Q)$(MAKE) --no-print-directory VARIANT=fault BUILD=$(BUILD)/fault-out all examples
	$(Q)tests/fault/run $(abspath $(BUILD))/asan-out $(abspath $(BUILD))/fault-out

# ---- docs and lint --------------------------------------------------------------------
DUMP := $(O)/proto/dump
$(DUMP): $(O)/proto/dump.o $(O)/proto/dump_host.o $(O)/proto/dump_man.o $(O)/proto/dump_metrics.o $(O)/proto/dump_client.o \
	$(O)/libcommon.a
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS_CRYPTO)
GENMAN := ats-brain.json.5 ats-protocol.7
GEN := frames tools errors ctx hooks config limits methods commands audit metrics log events
docs: $(DUMP)
	$(Q)for d in $(GEN); do $(DUMP) $$d > docs/gen/$$d.md || exit 1; done
	$(Q)$(DUMP) audit.schema > proto/schema/audit.json
	$(Q)$(DUMP) client.table > packaging/npm/lib/table.js
	$(Q)for d in $(GENMAN); do $(DUMP) $$d > docs/man/$$d || exit 1; done
lint: all $(DUMP)
	$(Q)BUILD=$(BUILD) DUMP=$(DUMP) GEN='$(GEN)' GENMAN='$(GENMAN)' CC='$(CC)' tests/lint/run
format-check:
	$(Q)tests/lint/format.sh

# The archive of the npm package, as it is published.
.PHONY: npm
npm:
	$(Q)rm -rf $(BUILD)/npm-pack && mkdir -p $(BUILD)/npm-pack
	$(Q)cp -r packaging/npm/. LICENSE $(BUILD)/npm-pack
	$(Q)cd $(BUILD)/npm-pack && npm pack --silent --pack-destination .. > /dev/null

# ---- what is installed ------------------------------------------------------------------
# In an image each byte is somebody's: 7 MB, of which TLS has 4; 2.5 without (TLS=no).
HANDS_MAX := $(if $(filter no,$(TLS)),2500000,7000000)
static: $(BUILD)/ats-hands $(BUILD)/atsctl
	@file -L $^ | grep -v 'statically linked' && exit 1 || echo 'static: $^'
	@n=$$(stat -c %s $(BUILD)/ats-hands); test $$n -le $(HANDS_MAX) || \
		{ echo "$(BUILD)/ats-hands: $$n bytes, at most $(HANDS_MAX)"; exit 1; }
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/agent-tool-server
UNITDIR ?= $(PREFIX)/lib/systemd/system
USERUNITDIR ?= $(PREFIX)/lib/systemd/user
SHAREDIR ?= $(PREFIX)/share/ats
INCLUDEDIR ?= $(PREFIX)/include
LIBDIR ?= $(PREFIX)/lib
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
FISHDIR ?= $(PREFIX)/share/fish/vendor_completions.d
COMPLETIONS := $(BASHDIR)/atsctl $(ZSHDIR)/_atsctl $(FISHDIR)/atsctl.fish
# The units name the place of the programs: it is the one they are installed for.
UNITS_SYSTEM := ats-brain.service ats-brain.socket ats-engine.service ats-engine.socket ats-hands@.service
UNITS_USER := ats-brain.service ats-brain.socket
unit = sed 's|/usr/local/bin|$(BINDIR)|; s|/usr/local/libexec/ats|$(LIBEXECDIR)|' \
	packaging/systemd/$(1)/$(2) > $(DESTDIR)$(3)/$(2) && chmod 644 $(DESTDIR)$(3)/$(2)
install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR) \
		$(addprefix $(DESTDIR)$(MANDIR)/,man1 man3 man5 man7 man8) \
		$(addprefix $(DESTDIR)$(DOCDIR)/,docs/gen examples) $(DESTDIR)$(UNITDIR) $(DESTDIR)$(USERUNITDIR) \
		$(DESTDIR)$(SYSUSERSDIR) $(DESTDIR)$(TMPFILESDIR) \
		$(addprefix $(DESTDIR)$(SHAREDIR)/,apparmor kubernetes container schema) \
		$(addprefix $(DESTDIR),$(BASHDIR) $(ZSHDIR) $(FISHDIR)) \
		$(DESTDIR)$(INCLUDEDIR) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 755 $(BUILD)/atsctl $(BUILD)/ats-brain $(BUILD)/ats-hands $(BUILD)/ats-http \
		$(DESTDIR)$(BINDIR)
	install -m 755 $(BUILD)/ats-engine $(BUILD)/ats-gateway packaging/gateway/ats-git-push \
		$(DESTDIR)$(LIBEXECDIR)
	install -m 644 docs/man/*.1 $(DESTDIR)$(MANDIR)/man1
	install -m 644 docs/man/*.3 $(DESTDIR)$(MANDIR)/man3
	for n in 5 7 8; do install -m 644 docs/man/*.$$n $(DESTDIR)$(MANDIR)/man$$n || exit 1; done
	install -m 644 packaging/container/Containerfile* $(DESTDIR)$(SHAREDIR)/container
	install -m 755 packaging/container/podman-sandbox $(DESTDIR)$(SHAREDIR)/container
	install -m 644 packaging/kubernetes/*.json $(DESTDIR)$(SHAREDIR)/kubernetes
	install -m 755 packaging/kubernetes/ats-kubernetes $(DESTDIR)$(SHAREDIR)/kubernetes
	install -m 644 brain/client/ats.h $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $(BUILD)/libats.a $(DESTDIR)$(LIBDIR)
	install -m 755 $(BUILD)/libats.so.$(VERSION) $(DESTDIR)$(LIBDIR)
	ln -sf libats.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libats.so.$(LIBATS_ABI)
	ln -sf libats.so.$(LIBATS_ABI) $(DESTDIR)$(LIBDIR)/libats.so
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' packaging/libats.pc.in \
		> $(DESTDIR)$(LIBDIR)/pkgconfig/libats.pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/libats.pc
	$(BUILD)/atsctl completion bash > $(DESTDIR)$(BASHDIR)/atsctl
	$(BUILD)/atsctl completion zsh > $(DESTDIR)$(ZSHDIR)/_atsctl
	$(BUILD)/atsctl completion fish > $(DESTDIR)$(FISHDIR)/atsctl.fish
	chmod 644 $(addprefix $(DESTDIR),$(COMPLETIONS))
	install -m 644 proto/schema/*.json $(DESTDIR)$(SHAREDIR)/schema
	install -m 644 LICENSE $(DESTDIR)$(DOCDIR)
	for f in README.md CHANGELOG.md docs/*.md docs/gen/*.md; do \
		sed -f packaging/installed.sed "$$f" > "$(DESTDIR)$(DOCDIR)/$$f" && \
		chmod 644 "$(DESTDIR)$(DOCDIR)/$$f" || exit 1; done
	install -m 644 tests/example/* $(DESTDIR)$(DOCDIR)/examples
	$(foreach u,$(UNITS_SYSTEM),$(call unit,system,$(u),$(UNITDIR)) && ):
	$(foreach u,$(UNITS_USER),$(call unit,user,$(u),$(USERUNITDIR)) && ):
	for p in ats-brain ats-hands; do install -m 644 packaging/systemd/$$p.sysusers \
		$(DESTDIR)$(SYSUSERSDIR)/$$p.conf || exit 1; done
	install -m 644 packaging/systemd/ats-brain.tmpfiles $(DESTDIR)$(TMPFILESDIR)/ats-brain.conf
	install -m 644 packaging/apparmor/ats-hands $(DESTDIR)$(SHAREDIR)/apparmor/ats-hands
# What install put there; give it the same PREFIX and DESTDIR. State of users stays.
uninstall:
	rm -f $(addprefix $(DESTDIR)$(BINDIR)/,atsctl ats-brain ats-hands ats-http) \
		$(addprefix $(DESTDIR)$(LIBEXECDIR)/,ats-engine ats-gateway ats-git-push) \
		$(patsubst docs/man/%,$(DESTDIR)$(MANDIR)/man1/%,$(wildcard docs/man/*.1)) \
		$(patsubst docs/man/%,$(DESTDIR)$(MANDIR)/man3/%,$(wildcard docs/man/*.3)) \
		$(foreach n,5 7 8,$(patsubst docs/man/%,$(DESTDIR)$(MANDIR)/man$(n)/%, \
		$(wildcard docs/man/*.$(n)))) \
		$(DESTDIR)$(INCLUDEDIR)/ats.h $(DESTDIR)$(LIBDIR)/pkgconfig/libats.pc \
		$(addprefix $(DESTDIR)$(LIBDIR)/libats.,a so so.$(LIBATS_ABI) so.$(VERSION)) \
		$(addprefix $(DESTDIR)$(UNITDIR)/,$(UNITS_SYSTEM)) \
		$(addprefix $(DESTDIR)$(USERUNITDIR)/,$(UNITS_USER)) \
		$(addprefix $(DESTDIR),$(COMPLETIONS)) \
		$(addprefix $(DESTDIR)$(SYSUSERSDIR)/,ats-brain.conf ats-hands.conf) \
		$(DESTDIR)$(TMPFILESDIR)/ats-brain.conf $(DESTDIR)$(SHAREDIR)/apparmor/ats-hands \
		$(patsubst packaging/%,$(DESTDIR)$(SHAREDIR)/%,$(wildcard packaging/kubernetes/* \
		packaging/container/*)) \
		$(patsubst proto/%,$(DESTDIR)$(SHAREDIR)/%,$(wildcard proto/schema/*)) \
		$(patsubst tests/example/%,$(DESTDIR)$(DOCDIR)/examples/%,$(wildcard tests/example/*)) \
		$(addprefix $(DESTDIR)$(DOCDIR)/,README.md CHANGELOG.md LICENSE \
		$(wildcard docs/*.md docs/gen/*.md))
	rmdir $(addprefix $(DESTDIR)$(SHAREDIR)/,apparmor container kubernetes schema) \
		$(DESTDIR)$(SHAREDIR) $(DESTDIR)$(LIBEXECDIR) \
		$(addprefix $(DESTDIR)$(DOCDIR)/,docs/gen docs examples) $(DESTDIR)$(DOCDIR) 2>/dev/null || :

# ---- what is given out ------------------------------------------------------------------
.PHONY: dist deb sbom
DIST := $(BUILD)/dist/agent-tool-server-$(VERSION).tar.gz
dist:
	$(Q)packaging/dist $(DIST) agent-tool-server-$(VERSION)
	@echo $(DIST)
# PREBUILT=build: with the programs that are there, instead of building them once more.
deb: dist
	$(Q)PREBUILT=$(if $(PREBUILT),$(abspath $(PREBUILT))) packaging/deb $(DIST) $(BUILD)/deb
	@ls $(BUILD)/deb/*.deb
# SPDX: what each program is linked with.
space := $(subst ,, )
libs = $(subst $(space),$(comma),$(sort $(patsubst -l%,%,$(filter-out -lpthread,$(1)))))
SBOM := $(BUILD)/dist/agent-tool-server-$(VERSION).spdx.json
sbom: $(PROGRAMS)
	@mkdir -p $(dir $(SBOM))
	$(Q)SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} packaging/sbom $(VERSION) \
		$(BUILD)/ats-brain=$(call libs,$(LIBS_BRAIN)) \
		$(BUILD)/ats-engine=$(call libs,$(LIBS_ENGINE)) \
		$(BUILD)/ats-gateway=$(call libs,$(LIBS_EVENT) $(LIBS_CONFINE) $(LIBS_TLS) $(LIBS_CURL)) \
		$(BUILD)/ats-http=$(call libs,$(LIBS_EVENT) $(LIBS_CONFINE) $(LIBS_CRYPTO)) \
		$(BUILD)/ats-hands=$(call libs,$(LIBS_DIAL) $(LIBS_EVENT) $(LIBS_PCRE) $(LIBS_CONFINE) $(LIBS_TLS)) \
		$(BUILD)/atsctl=$(call libs,$(LIBS_JSON) $(LIBS_CONFINE) $(LIBS_CRYPTO)) > $(SBOM).new && \
		mv $(SBOM).new $(SBOM)
	@echo $(SBOM)
