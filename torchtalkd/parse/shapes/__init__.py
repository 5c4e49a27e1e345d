"""The ways code can spell a binding, one file each.

A shape reads one kind of spelling wherever a manifest says it occurs, and writes Definitions
(with what they refer to) to the Collector. A new convention of a known shape is a line of a
manifest; a new shape is a file here and a case under `tests/cases`.
"""
