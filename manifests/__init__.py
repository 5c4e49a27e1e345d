"""The packaged manifests: one TOML file for each framework that torchtalkd knows.

This package holds data only. `torchtalkd.conventions.load` reads it; `docs/manifests.md`
describes the fields.
"""
