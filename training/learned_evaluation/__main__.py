"""python -m training.learned_evaluation"""

import sys

from training.learned_evaluation.fitting import command

if __name__ == "__main__":
    sys.exit(command())
