# SPDX-License-Identifier: Apache-2.0
#
# make check-conformance: the MCP conformance suite (npm, pinned) and what tests/conformance/expected
# says of each of its scenarios. Its engine is linked with fixture tools; the others are as shipped.
comma := ,
CONFORM := $(BUILD)/conformance
CONFORM_O := $(addprefix tests/conformance/,fixtures.o jobs.o rounds.o wrap.o)
CONFORM_WRAPS := toolset_write mcp_tools_call mcp_discover rpc_line client_free
$(CONFORM)/ats-engine: $(addprefix $(O)/,$(ENGINE_O) $(CONFORM_O))
	@mkdir -p $(@D)
	$(call link,$(CONFORM_WRAPS:%=-Wl$(comma)--wrap=%),$(LIBS_ENGINE))
CONFORM_PROGRAMS := $(patsubst $(BUILD)/%,$(CONFORM)/%,$(filter-out %/ats-engine,$(PROGRAMS)))
$(CONFORM_PROGRAMS): $(CONFORM)/%: $(BUILD)/%
	@mkdir -p $(@D)
	@cp -f $< $@
# ONLY=WORD takes the scenarios whose name holds it; SHOW=1 shows what the suite says of them.
.PHONY: check-conformance
check-conformance: $(CONFORM)/ats-engine $(CONFORM_PROGRAMS)
	$(Q)ATS_BUILD=$(abspath $(CONFORM)) ATS_NPM=$(abspath $(BUILD))/npm \
		tests/conformance/run.py $(if $(SHOW),--show) $(ONLY)
