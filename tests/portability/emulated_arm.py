"""make test-arm: the values of values.json on ARM processors, emulated by qemu.

Debian's packages mmdebstrap and qemu-user-static are needed, and root. The system is Debian's for
arm64, without installation; the wheels of the dependencies are those of the package index. The
processors differ in their instructions: neoverse-n1 (AWS Graviton2) has dot products of bytes,
cortex-a72 (Raspberry Pi 4) lacks them. An emulation takes about 20 times as long as an ARM machine.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "arm64"
SYSTEM, PACKAGES = FOLDER / "system", FOLDER / "packages"
PYTHON = "3.11"
DEBIAN = "bookworm"
# Packages of the emulated system, beside their dependencies.
SYSTEM_PACKAGES = f"python{PYTHON}", "libstdc++6", "libgomp1"
TOOLS = "mmdebstrap", "qemu-aarch64-static"
DECISIONS = "5"
PLATFORMS = [f"manylinux_2_{version}_aarch64" for version in (28, 27, 17)]
PROCESSORS = "neoverse-n1", "cortex-a72"


def prepare() -> None:
    """Unpack the system and install the library with its dependencies, without running either."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    include = ",".join(SYSTEM_PACKAGES)
    options = ["--quiet", "--variant=extract", "--architectures=arm64", f"--include={include}"]
    subprocess.run(["mmdebstrap", *options, DEBIAN, SYSTEM], check=True)
    pip = [sys.executable, "-m", "pip"]
    wheels = FOLDER / "wheels"
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "-w", wheels, ROOT], check=True)
    wheel = next(wheels.glob("cc_env-*.whl"))
    target = ["--target", PACKAGES, "--python-version", PYTHON, "--only-binary=:all:"]
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    command = [*pip, "install", "--quiet", *target, *platforms, f"{wheel}[learned]"]
    subprocess.run(command, check=True)


def check(processor: str) -> bool:
    """Return whether all values are the recorded ones on an emulated processor."""
    print(f"{processor}:", flush=True)
    emulator = ["qemu-aarch64-static", "-cpu", processor, "-L", SYSTEM]
    python = SYSTEM / "usr/bin" / f"python{PYTHON}"
    environment = {
        **os.environ,
        "PYTHONHOME": str(SYSTEM / "usr"),
        "PYTHONPATH": str(PACKAGES),
        "NUMBA_CACHE_DIR": str(FOLDER / f"cache-{processor}"),
    }
    command = [*emulator, python, Path(__file__).with_name("values.py"), DECISIONS]
    return not subprocess.run(command, env=environment, cwd=FOLDER).returncode


def main() -> int:
    """Check the processors that are named, by default all; return the exit status."""
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
        return 2
    prepare()
    failed = [processor for processor in sys.argv[1:] or PROCESSORS if not check(processor)]
    print(f"failed: {failed}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
