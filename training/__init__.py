"""Training and evaluation of players.

alphazero           self-play guided by tree search
ppo                 MaskablePPO against a pool of opponents
dqn                 a deep Q-network whose illegal actions are masked
distillation        a policy trained on the values that alpha-beta assigns to actions
learned_evaluation  a small network that corrects the evaluation inside alpha-beta
baselines           the algorithms with equal CPU time, measured against the same players
arena               tournaments; the command is python -m training.evaluate
experiments         accuracy, hard positions, tuning, a demonstration
reproductions       the published experiments with C&C
selfplay            parts of the algorithms: loop, evaluation, learner, replay buffer, self-play
runs                the folder of a run: config, log, checkpoints, charts, command line
parallel            tasks in several processes or on a Ray cluster
"""
