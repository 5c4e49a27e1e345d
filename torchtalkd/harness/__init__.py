"""What a harness should find in a tree, read from the tree itself and from anchors: no index takes part.

`anchors` reads integration anchors, `sites` finds what looks like a registration in a text,
`survey` does so for a whole tree and says how it is laid out, `proposals` turns a site into lines of
a manifest and `draft` a survey into a whole one. `queries/verify.py` compares all that with the
index. It stands apart from `parse` so that what one misses the other can see. The tests are in
`tests/test_harness.py` and `tests/test_sites.py`.
"""
