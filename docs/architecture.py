"""The picture of the architecture page: one molecule on its way through the packages.

python docs/architecture.py docs/images/architecture.svg
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

from comrecgc.data import load_planted
from comrecgc.data.planted import true_recourses
from comrecgc.drawing import STYLE, Pen

# Package, what happens to the graph there, what it is afterwards.
STATIONS = [
    ("data", "atoms become labels, bonds become edges; molecules knows the chemistry", "Graph in a GraphDataset"),
    ("models", "one forward pass; not accepted, so the graph is an input; a panel is trained", "Rejects, Panel"),
    ("graphs, molecules", "which surroundings and groups occur in the data", "Ladder, Vocabulary"),
    ("algorithms/rules: mining", "every change at every site, on its rung and within θ, scored once", "Changes"),
    ("algorithms/rules: composition", "two or three changes together, where single ones raise the score", "ChangeRows"),
    ("algorithms/rules: table", "one row per rule: which inputs have a site, which it covers, who agrees", "RuleTable"),
    ("algorithms/rules: choice, cover", "at most R rules that cover the most inputs, with a bound", "RuleChoice"),
    ("explanation, wording", "a plain forward pass checks every claim; the rule gets its words", "Explanation"),
    ("report, runs", "one page, one folder; figures that can be computed again", "report.html, explanation.json"),
]
STEP, TOP, WIDTH = 62, 24, 1000
COLOURS = """
.page{fill:#fff} .box{fill:#f4f6f8;stroke:#546e7a} .line{stroke:#546e7a;stroke-width:1.5} .tip{fill:#546e7a}
text{font-family:system-ui,sans-serif;fill:#1c2429} .name{font-size:15px;font-weight:600} .what{font-size:13px;fill:#455a64}
.type{font:600 13px ui-monospace,monospace;fill:#0067a8} .note{font-size:12px;fill:#455a64;text-anchor:middle}
@media (prefers-color-scheme:dark){.page{fill:#16191d} .box{fill:#22282e;stroke:#90a4ae} .line{stroke:#90a4ae} .tip{fill:#90a4ae}
text{fill:#e6e6e3} .what,.note{fill:#b0bec5} .type{fill:#64b5f6}}
"""


def main(path: Path) -> None:
    """Write the picture."""
    dataset = load_planted(num_graphs=120)
    index = min(
        (i for i, found in enumerate(dataset.toxicophores) if [group.name for group in found] == ["nitro"]),
        key=lambda i: (dataset.graphs[i].num_nodes, i),
    )
    edits = next(iter(true_recourses(dataset.toxicophores[index][0]).values()))
    drawn = Pen(dataset.schema).draw(dataset.graphs[index], edits)
    height = 2 * TOP + STEP * len(STATIONS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '  # noqa: ISC004
        'aria-label="One molecule on its way from the dataset to the report">',
        f'<style>{COLOURS}{STYLE}</style><rect class="page" width="{WIDTH}" height="{height}" rx="8"/>',
        molecule(drawn.before, TOP + 10, "rejected"),
        molecule(drawn.after, height - TOP - 190, "accepted"),
        f'<text class="note" x="120" y="{height / 2}">explainer.py runs these steps;</text>',
        f'<text class="note" x="120" y="{height / 2 + 18}">run and scoring lie below</text>',
    ]
    for place, (name, what, kind) in enumerate(STATIONS):
        y = TOP + STEP * place
        if place:
            parts.append(f'<path class="line" d="M270 {y - 16}V{y - 6}"/><path class="tip" d="M264 {y - 8}h12l-6 8z"/>')
        parts.append(
            f'<rect class="box" x="250" y="{y}" width="730" height="{STEP - 16}" rx="6"/>'
            f'<text class="name" x="264" y="{y + 19}">{escape(name)}</text>'
            f'<text class="what" x="264" y="{y + 37}">{escape(what)}</text>'
            f'<text class="type" x="966" y="{y + 19}" text-anchor="end">{escape(kind)}</text>'
        )
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")


def molecule(svg: str, y: float, word: str) -> str:
    """A drawing in the left margin, with a word beneath."""
    placed = svg.replace("<svg ", f'<svg x="15" y="{y}" ', 1)
    start, _, rest = placed.partition('width="')
    _, _, rest = rest.partition('height="')
    size = 'width="210" height="160" preserveAspectRatio="xMidYMid meet"'
    return f'{start}{size}{rest.partition(chr(34))[2]}<text class="note" x="120" y="{y + 178}">{word}</text>'


if __name__ == "__main__":
    main(Path(sys.argv[1]))
