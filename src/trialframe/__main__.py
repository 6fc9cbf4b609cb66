"""Run the command line: python -m trialframe."""

from __future__ import annotations

import sys

from trialframe.cli import main

if __name__ == "__main__":
    sys.exit(main())
