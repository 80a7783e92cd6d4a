"""Pairs and transformations of mmpdb, for `benchmarks/measured_numbers.py --mmpdb FOLDER`; runs in an environment of its own with mmpdb.

    python -m venv mmpdb && mmpdb/bin/pip install mmpdb
    mmpdb/bin/python benchmarks/mmpdb_numbers.py MOLECULES.smi FOLDER

`MOLECULES.smi` is what `benchmarks/measured_numbers.py --write-smiles FOLDER` writes: a SMILES and the place of the molecule. Defaults of mmpdb throughout.
"""

from __future__ import annotations

import csv
import sqlite3
import subprocess
import sys
from pathlib import Path


def main(smiles: Path, folder: Path) -> None:
    """Fragment and index the molecules, and write every pair with its transformation, `NAME.pairs.csv`."""
    program = Path(sys.executable).parent / "mmpdb"
    fragments, database = folder / f"{smiles.stem}.fragdb", folder / f"{smiles.stem}.mmpdb"
    if not database.exists():
        subprocess.run([program, "fragment", smiles, "-o", fragments, "-j", "2"], check=True)
        subprocess.run([program, "index", fragments, "-o", database], check=True)
    query = (
        "select a.public_id, b.public_id, e.rule_id, e.radius, e.id from pair p join rule_environment e on e.id = p.rule_environment_id "
        "join compound a on a.id = p.compound1_id join compound b on b.id = p.compound2_id where e.radius <= 1"
    )
    with sqlite3.connect(database) as connection, (folder / f"{smiles.stem}.pairs.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["first", "second", "rule", "radius", "environment"])
        writer.writerows(connection.execute(query))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
