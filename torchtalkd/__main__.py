"""`python -m torchtalkd` is the command `torchtalkd`."""

import sys

from torchtalkd.cli import main

if __name__ == "__main__":
    sys.exit(main())
