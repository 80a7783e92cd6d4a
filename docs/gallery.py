"""The thumbnails of the gallery: each example is run, and the rule of it that works for the most graphs is drawn.

python docs/gallery.py docs/images/gallery
python docs/gallery.py docs/images/gallery nitro    # the rule of README.md alone
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from comrecgc import CommonRecourse, Explanation
from comrecgc.drawing import STYLE, Pen, draw_rule
from comrecgc.graphs import Pattern, Rule, Schema

EXAMPLES = Path(__file__).parent.parent / "examples"


def main(folder: Path, names: list[str]) -> None:
    """Write a picture for every example that runs here."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nitro.svg").write_text(nitro_rule(), encoding="utf-8")
    os.chdir(tempfile.mkdtemp())
    for path in sorted(EXAMPLES.glob("*.py")):
        if names and path.stem not in names:
            continue
        found: dict[str, Any] = {"__name__": "example"}
        sys.argv = [str(path)]
        try:
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), found)  # noqa: S102
        except ImportError as error:
            sys.stderr.write(f"{path.name} is left out: {error}\n")
            continue
        explanation = found.get("explanation") or found.get("kept") or next(iter(found["explanations"].values()))
        (folder / f"{path.stem}.svg").write_text(thumbnail(explanation), encoding="utf-8")


def thumbnail(explanation: Explanation) -> str:
    """The rule that works for the most graphs, or one graph before and after where recourses are vectors."""
    best: CommonRecourse = max(explanation.recourses, key=lambda recourse: len(recourse.covered))
    if best.rule is not None:
        return draw_rule(best.rule, explanation.schema, title=best.summary, standalone=True)
    member = best.covered[0]
    picture = Pen(explanation.schema).draw(explanation.inputs[member.input].graph, member.edits, best.summary)
    after = picture.after.replace("<svg ", f'<svg x="{picture.width + 20}" ', 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * picture.width + 20} {picture.width}">'
        f"<style>{STYLE}</style>{picture.before}{after}</svg>"
    )


def nitro_rule() -> str:
    """The rule that README.md quotes from a run on Mutagenicity, whose archive has no charges: one oxygen of nitro has a single bond."""
    schema = Schema(("C", "N", "O", "F", "H"), ("single", "double"), is_molecular=True)
    nitro = Pattern((0, 1, 2, 2), ((0, 1), (1, 2), (1, 3)), (0, 1, 0))
    trifluoromethyl = Pattern((0, 0, 3, 3, 3), ((0, 1), (1, 2), (1, 3), (1, 4)), (0, 0, 0, 0))
    rule = Rule(nitro, trifluoromethyl, ((0, 0),), (False, True, True, True))
    return draw_rule(rule, schema, title="replace nitro on a carbon by trifluoromethyl", standalone=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
