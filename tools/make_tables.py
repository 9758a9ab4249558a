"""Make the bundled tables: `python tools/make_tables.py oboe-0.2.0-py3-none-any.whl`.

The wheel is that of the package oboe 0.2.0 (BSD-3-Clause; OBOE-NOTICE.txt is next to the tables),
downloaded without its dependencies. Its error and runtime matrices become one table: the score is
1 - balanced error, the cost is the runtime in seconds, both rounded to 6 decimals.
"""

import ast
import csv
import gzip
import io
import sys
import zipfile
from pathlib import Path

import numpy as np

from bentham.tables.synthetic import draw_synthetic

DATA = Path(__file__).parent.parent / "src" / "bentham" / "tables" / "data"
HEADER = ("study", "model", "score", "cost")


def matrix(wheel: zipfile.ZipFile, name: str) -> dict[str, dict[str, float]]:
    """Read a matrix from the wheel: dataset -> configuration -> value."""
    text = wheel.read(f"oboe/defaults/Oboe/{name}").decode()
    header, *rows = csv.reader(io.StringIO(text))
    return {row[0]: dict(zip(header[1:], map(float, row[1:]), strict=True)) for row in rows}


def model_name(configuration: str) -> str:
    """Return a readable name: the algorithm, then its hyperparameters."""
    parsed = ast.literal_eval(configuration)
    settings = (f"{key}={value}" for key, value in parsed["hyperparameters"].items())
    return " ".join([parsed["algorithm"], *settings])


def write_oboe(wheel_path: Path) -> None:
    """Write the table `oboe`."""
    with zipfile.ZipFile(wheel_path) as wheel:
        errors, runtimes = matrix(wheel, "error_matrix.csv"), matrix(wheel, "runtime_matrix.csv")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for dataset in sorted(errors, key=int):
        for configuration, error in errors[dataset].items():
            score, cost = 1.0 - error, runtimes[dataset][configuration]
            row = f"openml-{int(dataset)}", model_name(configuration), f"{score:.6f}", f"{cost:.6f}"
            writer.writerow(row)
    # No timestamp: the same input gives the same bytes.
    (DATA / "oboe.csv.gz").write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))


def write_synthetic() -> None:
    """Write the draw of seed 0 to a file, because other machines may round differently."""
    table = draw_synthetic(0)
    with (DATA / "synthetic.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for place, column in np.ndindex(table.scores.shape):
            score, cost = table.scores[place, column], table.costs[place, column]
            names = table.studies[place], table.models[column]
            writer.writerow((*names, f"{score:.6f}", f"{cost:.6f}"))


if __name__ == "__main__":
    write_synthetic()
    write_oboe(Path(sys.argv[1]))
