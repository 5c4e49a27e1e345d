"""Which definitions may this name mean, and how sure is that.

Pure functions over the facts of one revision (`source.Facts`, which the store's View satisfies).
Nothing here writes, and no answer is kept but in the view that it was made from.
"""
