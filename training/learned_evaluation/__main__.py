"""python -m training.learned_evaluation"""

import sys

from cc_env.cli.application import run
from training.learned_evaluation.fitting import app

if __name__ == "__main__":
    sys.exit(run(app))
