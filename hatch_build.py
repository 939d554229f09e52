"""Build hook of the wheel: compiles the keeper statically, so that a machine without a C compiler can run it.

A machine that cannot compile it still gets a wheel, for any platform and without the keeper.
"""

import runpy
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SANDBOX = Path("host/sandbox")


class KeeperBuildHook(BuildHookInterface[Any]):
    """Adds the compiled keeper to the wheel. An editable install compiles it on first use instead."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the keeper, add it to the files of the wheel and name its platform."""
        if version == "editable":
            return
        keeper_build = runpy.run_path(str(Path(self.root) / SANDBOX / "keeper_build.py"))
        self._folder = tempfile.TemporaryDirectory()
        target = Path(self._folder.name) / keeper_build["file_name"]()
        try:
            keeper_build["compile_keeper"](target, keeper_build["STATIC"])
        except keeper_build["BuildError"] as error:
            self.app.display_warning(f"The wheel does not contain the keeper: {error}. {error.output}")
            return
        build_data["force_include"][str(target)] = str(SANDBOX / "built" / target.name)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder of the compiled keeper."""
        if version != "editable":
            self._folder.cleanup()
