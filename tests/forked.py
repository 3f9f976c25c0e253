"""Scripts in processes of their own, forked from one that has imported the project.

Of a second that a started process takes nearly all is imports. A forked one has them and nothing else: no
module of a test, no cache filled, nothing read of what the script will read.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from checks.claim import ROOT

PARENT = """
import json, os, sys, time, traceback
import checks.api, checks.run.content, checks.run.verify
from checks import audit
from checks.run import catalogue
for line in sys.stdin:
    script, arguments, folder, environment, out = json.loads(line)
    child = os.fork()
    if not child:
        status = 1
        try:
            audit.STARTED = catalogue.STARTED = time.time()  # a change since then is one to this process
            os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            sys.path[1:1] = environment["PYTHONPATH"].split(":")
            sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in environment
            sys.argv[1:] = arguments
            exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})
            sys.stdout.flush()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@cache
def _parent() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def forked(
    script: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], out: Path
) -> str:
    """What a script prints in a folder and an environment whose PYTHONPATH comes first; it is kept in ``out``.

    Raises AssertionError: it failed (its traceback stands in the standard error).
    """
    parent = _parent()
    assert parent.stdin and parent.stdout
    job = (script, list(arguments), str(folder), dict(environment), str(out))
    parent.stdin.write(json.dumps(job) + "\n")
    parent.stdin.flush()
    status = parent.stdout.readline()
    assert status == "0\n", f"the script ended with {status.strip() or 'its parent'}"
    return out.read_text()
