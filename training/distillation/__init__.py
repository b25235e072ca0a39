"""Policy distillation: a network learns the values that alpha-beta assigns to actions."""
