"""What runs in someone else's process: installed as `torchtalkd_clients`.

Standard library only, so that each of them starts in milliseconds.
"""
