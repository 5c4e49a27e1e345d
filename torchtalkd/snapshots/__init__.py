"""Named copies of an index: saved, chosen, compared, carried to another machine."""
