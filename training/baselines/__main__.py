"""python -m training.baselines"""

import sys

from cc_env.cli.application import run
from training.baselines.command import app

if __name__ == "__main__":
    sys.exit(run(app))
