"""python -m training.distillation"""

import sys

from cc_env.cli.application import run
from training.distillation.distillation import app

if __name__ == "__main__":
    sys.exit(run(app))
