"""One module for each question; each has one public function named like it, with the View first.

Queries speak no protocol: they return the answer types of `answers.py`, and a front end turns
these into text or JSON.
"""
