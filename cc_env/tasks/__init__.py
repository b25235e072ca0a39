"""Tasks in words for language models, each with its judge."""

from cc_env.tasks.generation import make_tasks
from cc_env.tasks.measurement import measure
from cc_env.tasks.task import Task, grade, read_tasks

__all__ = ["Task", "grade", "make_tasks", "measure", "read_tasks"]
