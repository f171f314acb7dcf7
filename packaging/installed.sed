# SPDX-License-Identifier: Apache-2.0
# Links of README.md and docs as they stand where make install puts them: what is elsewhere than in
# the source, or not there. tests/system/0900-install.py looks whether each leads to something.
s|](packaging/container)|](../../ats/container)|g
s|](\.\./tests/example/|](../examples/|g
s|\[tests/example/|[examples/|g
s|](\.\./proto/schema/|](../../../ats/schema/|g
s|\[proto/schema/|[share/ats/schema/|g
s|\[packaging/npm\](\.\./packaging/npm/README\.md)|`packaging/npm` of the source|g
s|\[\([^]]*\)\](man/[^)]*)|\1|g
