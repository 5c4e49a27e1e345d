"""Answers for those who ask: as text (`text.py`), for the command line (`command`).

A front end asks a function of `torchtalkd.queries` and shows what it says; it decides nothing.
"""
