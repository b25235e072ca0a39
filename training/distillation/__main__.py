"""python -m training.distillation"""

import sys

from training.distillation.distillation import command

if __name__ == "__main__":
    sys.exit(command())
