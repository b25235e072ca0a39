"""The extras of cc_env that install optional packages."""

# Extra by the name under which a package is imported.
_EXTRAS = {
    "anywidget": "notebook",
    "choix": "arena",
    "filelock": "arena",
    "h5py": "datasets",
    "jinja2": "arena",
    "matplotlib": "arena",
    "minari": "datasets",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "onnxscript": "onnx",
    "pettingzoo": "pettingzoo",
    "pygame": "render",
    "pyspiel": "openspiel",
    "ray": "ray",
    "rich": "cli",
    "safetensors": "learned",
    "sb3_contrib": "sb3",
    "scipy": "arena",
    "stable_baselines3": "sb3",
    "starlette": "play",
    "tensorboard": "train",
    "torch": "train",
    "typer": "cli",
    "uvicorn": "play",
    "wandb": "wandb",
}


def extra_of_package(module: str | None) -> str | None:
    """Return the extra that installs a module or its package; None if none does."""
    return _EXTRAS.get((module or "").partition(".")[0])
