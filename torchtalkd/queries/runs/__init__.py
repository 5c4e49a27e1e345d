"""What each test file runs, as far as the text says: one walk over all facts of the tree."""
