"""Anchors of real trees, as YAML: `torchtalkd harness verify` reads them, also from an installed package.

Written by searching the trees, never from torchtalkd's own answers. `_template.yml` says how.
"""
