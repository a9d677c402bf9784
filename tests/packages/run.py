#!/usr/bin/env -S python3 -B
"""Tries what is shipped, as far as a machine without systemd, Kubernetes and RPM can: run.py VENV TOOLS PROGRAM DIRECTORY.

VENV holds Python's checkers, TOOLS helm and kubectl, DIRECTORY what tools/packages made. Ends with a line in the form of
Rust's own tests. A check whose tool is missing is named as skipped, or fails where every tier must run.
"""

import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import container
import debian
import kubernetes
import rpm
import service
from commands import Missing


class Shipped:
    """What the checks work on."""

    def __init__(self, venv, tools, program, made, scratch):
        self.venv = Path(venv).resolve()
        self.tools = Path(tools).resolve()
        self.program = Path(program).resolve()
        self.made = Path(made).resolve()
        self.scratch = Path(scratch)
        self.tree = Path(__file__).resolve().parent.parent.parent


def main():
    only = os.environ.get("ROCE_PACKAGES_ONLY", "")
    passed, failed, skipped = 0, [], []
    for module in [container, service, debian, rpm, kubernetes]:
        for check in module.CHECKS:
            name = f"{module.__name__}: {check.__name__.replace('_', ' ')}"
            if only not in name:
                continue
            since = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="roce-packages-") as scratch:
                try:
                    check(Shipped(*sys.argv[1:], scratch))
                    passed += 1
                    print(f"{name} ... ok ({time.monotonic() - since:.1f} s)", flush=True)
                except Missing as missing:
                    print(f"SKIPPED: {missing}", flush=True)
                    skipped.append(f"{name}: missing {missing}")
                except Exception:  # Whatever goes wrong is this check's failure; the others go on.
                    failed.append(name)
                    print(f"{name} ... FAILED\n{traceback.format_exc()}", flush=True)
    if os.environ.get("ROCE_REQUIRE_ALL_TIERS") == "1":
        failed += skipped
    word = "FAILED" if failed else "ok"
    print(f"\ntest result: {word}. {passed} passed; {len(failed)} failed; 0 ignored")
    if failed:
        raise SystemExit("failed: " + ", ".join(failed))


if __name__ == "__main__":
    main()
