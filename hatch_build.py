"""Build hook of the wheel: adds the pages of the documentation, and compiles the keeper statically, so that a machine
without a C compiler can run it.

The variable CC names another compiler, for example `aarch64-linux-gnu-gcc`; the wheel is for the machine that it compiles
for. A machine that cannot compile the keeper still gets a wheel, for any platform and without the keeper.
"""

import os
import runpy
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SANDBOX = Path("host/sandbox")


class KeeperBuildHook(BuildHookInterface[Any]):
    """Adds the pages and the compiled keeper to the wheel. An editable install compiles it on first use instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the pages, without their pictures. Compile the keeper, add it to the files of the wheel and name its platform."""
        if version == "editable":
            return
        for page in (Path(self.root) / "docs").rglob("*.md"):
            build_data["force_include"][str(page)] = str(Path("host/data") / page.relative_to(self.root))
        keeper_build = runpy.run_path(str(Path(self.root) / SANDBOX / "keeper_build.py"))
        self._folder = tempfile.TemporaryDirectory()
        target = Path(self._folder.name) / keeper_build["file_name"]()
        try:
            keeper_build["compile_keeper"](target, keeper_build["STATIC"], compiler=os.environ.get("CC", ""))
        except keeper_build["BuildError"] as error:
            self.app.display_warning(f"The wheel does not contain the keeper: {error}. {error.output}")
            return
        build_data["force_include"][str(target)] = str(SANDBOX / "built" / target.name)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform()}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder of the compiled keeper."""
        if version != "editable":
            self._folder.cleanup()


def platform() -> str:
    """Return the platform that the compiled keeper is for, as in the name of a wheel: `linux_x86_64`."""
    if compiler := os.environ.get("CC"):
        machine = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=True)
        return f"linux_{machine.stdout.partition('-')[0]}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
