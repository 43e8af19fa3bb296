"""Compiled kernels in the wheel, where SPD1_KERNELS names a folder of them (``make wheel``).

Without it the wheel is plain Python, is built at once, and compiles kernels where it is used.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    """Puts the folder into the package, and the tag of this Python and system on the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects files."""
        named = os.environ.get("SPD1_KERNELS")
        if not named or version == "editable":
            return
        folder = Path(named)
        if not (folder / "manifest.json").is_file():
            raise FileNotFoundError(f"{folder} has no kernels: run spd1 warm-up --into {folder}")
        build_data["force_include"][str(folder)] = "spd1/_kernels"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
