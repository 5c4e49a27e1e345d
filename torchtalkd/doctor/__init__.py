"""What is wrong with an installation, its daemon, its trees and its clients, each with the exact fix.

`look` asks everything; a module of this package is one part of it. Reads only: nothing is started, mended
or built.
"""

from torchtalkd.doctor.look import look
from torchtalkd.doctor.values import Finding

__all__ = ["Finding", "look"]
