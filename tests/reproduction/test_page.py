"""The page of the documentation says what the cells say, and what is missing."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from comrecgc.run import write_json
from comrecgc_reproduction import EXPERIMENTS, Runner, paper, scale_of
from comrecgc_reproduction.differences import gap, questions
from comrecgc_reproduction.page import write_page
from comrecgc_reproduction.paper import copied_summaries
from comrecgc_reproduction.results import file_name
from comrecgc_reproduction.statistics import times_table
from comrecgc_reproduction.tables import HERE

SCALE = replace(scale_of("full"), num_seeds=1)
EXCEPT_ITSELF = [experiment for experiment in EXPERIMENTS.values() if experiment.name != "page"]


def store(folder: Path, name: str, **figures: Any) -> None:
    cell = {"cell": name, "seconds": 1.0, "cpu_seconds": 90.0, "curve": [0.1], "lengths": [], "stages": {}, **figures}
    (folder / "cells").mkdir(parents=True, exist_ok=True)
    write_json(folder / "cells" / f"{file_name(name)}.json", cell)


def computed(folder: Path) -> Runner:
    """Table 3, five heads: AIDS as printed, Proteins 6.4 points below; one variant of a figure that differs."""
    for data, theta, share in (("aids", 0.1, 0.347), ("proteins", 0.15, 0.4)):
        name = f"published 5 heads fcr delta 0.02 theta {theta} {data} gcn seed 0 full"
        store(folder, name, coverage=0.9, published_coverage=share, length=9.0, published_length=6.74)
    store(folder, "rcexplainer ten graphs sparsity 0.1 theta 0.1 aids gcn seed 0 full", coverage=0.053)
    return Runner(folder=folder, scale=SCALE)


def line(page: str, start: str) -> list[str]:
    (found,) = [row for row in page.splitlines() if row.startswith(start)]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_verdicts_are_those_of_the_cells(tmp_path: Path) -> None:
    page = write_page(computed(tmp_path), EXCEPT_ITSELF).read_text()
    _, verdict, near, lengths, here, furthest, minutes, absent = line(page, "| `fcr`,")
    assert (verdict, near, lengths) == ("differs so far", "1 of 2 (24 reported)", "1 of 2")
    assert here.endswith("not run / not run / 34.7 / 40.0 (42.9 / 51.8 / 34.7 / 46.4)")
    assert furthest == "COMRECGC, 5 heads, proteins, %: 40.00 (-6.40)"
    assert (absent, minutes) == ("38", "3.0")  # 40 cells of 90 s, each counted once
    assert line(page, "| `ablation`,")[-2] == "0.0"
    assert line(page, "| Table 5, RCExplainer on aids")[3:] == [
        "5.3",
        "",  # one run is no range
        "sparsity 0.1: 5.3",
        "0 of 1; 8 planned",
    ]
    store(tmp_path, "rcexplainer ten graphs theta 0.1 aids gcn seed 0 full", coverage=0.032)
    page = write_page(computed(tmp_path), EXCEPT_ITSELF).read_text()
    assert line(page, "| Table 5, RCExplainer on aids")[3:5] == ["3.2 to 5.3", "above the range"]
    assert line(page, "| Table 5, RCExplainer on nci1")[3:] == ["not run", "", "", "0 of 0; 8 planned"]
    store(tmp_path, "rcexplainer ten graphs factual 0.5 theta 0.1 aids gcn seed 0 full", coverage=0.075)
    page = write_page(computed(tmp_path), EXCEPT_ITSELF).read_text()
    assert line(page, "| Table 5, RCExplainer on aids")[4:] == [
        "near a variant",
        "factual 0.5: 7.5",
        "1 of 3; 8 planned",
    ]
    assert "Here it is" not in page  # GCFExplainer on other networks was not run
    for name, share in (("gcfexplainer fcr", 0.2), ("published 5 heads fcr delta 0.02", 0.5)):
        store(tmp_path, f"{name} theta 0.1 aids gat seed 0 full", coverage=share)
    page = write_page(computed(tmp_path), EXCEPT_ITSELF).read_text()
    assert "0.3 to 15.1 points behind" in page
    assert "Here it is 30.0 to 30.0 behind" in page
    assert "1 of its 1 values are lower here than reported, by up to 7.6 points" in page


def test_a_table_whose_figures_are_all_near_is_reproduced(tmp_path: Path) -> None:
    runner = computed(tmp_path)
    verdicts = []
    for share in (0.44, 0.46):  # 46.4 is printed
        store(
            tmp_path,
            "published 5 heads fcr delta 0.02 theta 0.15 proteins gcn seed 0 full",
            coverage=0.9,
            length=9.0,
            published_coverage=share,
            published_length=9.0,
        )
        verdicts.append(line(write_page(runner, EXCEPT_ITSELF).read_text(), "| `fcr`,")[1:3])
    assert verdicts == [["differs so far", "1 of 2 (24 reported)"], ["reproduced so far", "2 of 2 (24 reported)"]]


def test_lengths_stand_beside_coverages_where_the_paper_printed_them(tmp_path: Path) -> None:
    runner = computed(tmp_path)
    name = "published 5 heads fcr delta 0.02 theta 0.1 imdb-multi gin swapped seed 0 full"
    store(tmp_path, name, coverage=0.21, length=7.86, inputs=1389)
    store(tmp_path, "cfgnnexplainer without isolated nodes proteins gcn seed 0 full", coverage=0.057, inputs=366)
    write_page(runner, EXCEPT_ITSELF)
    page = (tmp_path / "page" / "reproduction.md").read_text()
    multi = line(page, "| Table 16, imdb-multi")
    assert (multi[2], multi[5]) == ("21.9; 7.7", "GIN, θ = 0.1, classes exchanged: 21.0; 7.86")
    edges = line(page, "| Table 17, CF-GNNExplainer on proteins")
    assert (edges[2], edges[5], edges[6]) == ("0; 0", "nodes without an edge dropped: 5.7", "0 of 1; 6 planned")
    with (tmp_path / "page" / "reproduction" / "variants.csv").open() as file:
        rows = {(row["value"], row["variant"]): row for row in csv.DictReader(file)}
    row = rows["Table 16, imdb-multi", "GIN, θ = 0.1, classes exchanged"]
    assert [row[key] for key in ("coverage", "length", "inputs", "reported", "reported length")] == [
        "21",
        "7.86",
        "1389",
        "21.9",
        "7.7",
    ]
    assert rows["Table 5, RCExplainer on aids", "sparsity 0.1"]["reported length"] == ""


def test_a_value_that_tables_repeat_counts_once(tmp_path: Path) -> None:
    store(tmp_path, "gcfexplainer fcr theta 0.1 aids gcn seed 0 full", coverage=0.142, length=6.9)
    page = write_page(computed(tmp_path), EXCEPT_ITSELF).read_text()
    assert line(page, "| `fcr`,")[2] == "2 of 3 (24 reported)"
    for other in ("ablation", "local"):  # which have these rows again, and none of their own here
        assert line(page, f"| `{other}`,")[1:3] == ["not run", "none of 9 run"]  # of 12


def test_conclusions_are_compared_dataset_by_dataset(tmp_path: Path) -> None:
    runner = computed(tmp_path)
    start = "| FCR: covers more than GCFExplainer |"
    assert line(write_page(runner, EXCEPT_ITSELF).read_text(), start)[2:4] == ["not run", "– / – / – / –"]
    store(tmp_path, "gcfexplainer fcr theta 0.1 aids gcn seed 0 full", coverage=0.3)
    store(tmp_path, "gcfexplainer fcr theta 0.15 proteins gcn seed 0 full", coverage=0.5)
    found = line(write_page(runner, EXCEPT_ITSELF).read_text(), start)
    assert found[2:] == ["1 of 2", "– / – / +4.7 / -10.0", "+21.5 / +31.2 / +20.5 / +13.6"]


def test_rows_of_other_explainers_were_copied() -> None:
    assert copied_summaries() == (16, 16)


def test_the_same_cells_give_the_same_files(tmp_path: Path) -> None:
    def written() -> dict[str, bytes]:
        folder = write_page(computed(tmp_path / str(len(list(tmp_path.iterdir())))), EXCEPT_ITSELF).parent
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    first = written()
    assert first == written()
    assert {"reproduction.md", "reproduction/cells.csv", "images/reproduction-curves.svg"} <= set(first)
    rows = list(csv.DictReader(io.StringIO(first["reproduction/cells.csv"].decode())))
    assert sorted(row["coverage"] for row in rows) == ["0.053", "0.347", "0.4"]
    tables = list(csv.DictReader(io.StringIO(first["reproduction/tables.csv"].decode())))
    (aids,) = [
        row["mean"] for row in tables
        if (row["table"], row["row"], row["column"]) == ("fcr", "COMRECGC, 5 heads", "aids, %")
    ]  # fmt: skip
    assert float(aids) == 34.7


def test_a_variant_is_near_if_its_length_is_near_too() -> None:
    printed = paper.Printed(80.9, 8.1)
    assert gap(printed, 80.7, 8.6) == pytest.approx(0.5)
    assert gap(printed, 80.7, 13.1) == pytest.approx(5.0)
    assert gap(paper.Printed(80.9), 78.9, 13.1) == gap(paper.Printed(80.9), 82.9, None) == pytest.approx(1.0)
    assert gap(printed, 80.9, None) > 1


def test_every_variant_has_a_cell_of_its_own(tmp_path: Path) -> None:
    for question in questions():
        names = []
        for variant in question.variants.values():
            runner = Runner(folder=tmp_path, scale=SCALE, computes=False)
            assert variant(runner) is None
            names.append(list(runner.asked)[-1])  # after the cell whose search it shares
        assert len(set(names)) == len(question.variants)


def test_minutes_are_of_the_processor(tmp_path: Path) -> None:
    runner = computed(tmp_path)
    name = "published 5 heads fcr delta 0.02 theta 0.1 aids gcn seed 0 full"
    store(tmp_path, name, coverage=0.3, seconds=600.0, cpu_seconds=120.0, stages={"search": 450.0, "selection": 60.0})
    table = times_table(replace(runner, computes=False))
    rows = {row.name: row.entries[2].mean for row in table.rows if row.kind != HERE}
    assert rows["COMRECGC"] == pytest.approx(2.0)
    assert rows["COMRECGC: walk (Algorithm 5)"] == pytest.approx(1.5)
    assert rows["COMRECGC: clusters (Algorithm 1)"] == pytest.approx(0.2)
    page = write_page(runner, EXCEPT_ITSELF).read_text()
    assert line(page, "| `times`,")[4] == "COMRECGC, minutes: not run / not run / 2.0 / 1.5 (124 / 199 / 75 / 166)"
