"""python -m training.ppo"""

import sys

from cc_env.cli.application import run
from training.ppo.ppo import app

if __name__ == "__main__":
    sys.exit(run(app))
