"""Griffe extension: what the `__init__` of a package imports from its own modules is public, and belongs in the reference."""

from __future__ import annotations

from typing import Any

import griffe


class FrontDoors(griffe.Extension):
    """Marks the names that packages re-export as public."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Mark the names of a package and of its subpackages."""
        for module in (pkg, *(inner for inner in pkg.modules.values() if inner.is_subpackage)):
            for member in module.members.values():
                if isinstance(member, griffe.Alias) and member.target_path.startswith(f"{module.path}."):
                    member.public = True
