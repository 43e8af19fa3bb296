"""What hatchling is told when it builds: the readme's links, and compiled kernels if there are any.

README.md links to files beside it. On the page of a registry there are none, so links become
absolute there. Compiled kernels go into the wheel where SPD1_KERNELS names a folder of them (``make
wheel``). Without it the wheel is plain Python, is built at once, and compiles kernels where it is
used.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?\[[^\]]*\]\()(?!\w+:|#)([^)\s]+)")
PICTURES = (".png", ".svg", ".jpg", ".gif")


def absolute_links(text: str, source: str) -> str:
    """Markdown whose links to files lead to a repository; pictures to their bytes."""

    def absolute(match: re.Match[str]) -> str:
        start, path = match.groups()
        kind = "raw" if path.split("#")[0].endswith(PICTURES) else "blob"
        return f"{start}{source}/{kind}/main/{path}"

    return LINK.sub(absolute, text)


class CustomMetadataHook(MetadataHookInterface):
    """Sets the readme."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling with the project's table."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = absolute_links(text, metadata["urls"]["Source"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


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
