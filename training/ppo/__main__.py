"""python -m training.ppo"""

import sys

from training.ppo.ppo import command

if __name__ == "__main__":
    sys.exit(command())
