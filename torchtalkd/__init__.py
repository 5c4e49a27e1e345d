"""From a name in Python to the C++, CUDA and yaml that implement it, in a PyTorch source tree.

The packages and who may import whom stand in `tests/test_house_rules.py`.
"""

__version__ = "0.1.0"
