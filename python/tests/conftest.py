# SPDX-License-Identifier: MIT
import os
import pathlib
import subprocess

import hypothesis
import numpy as np
import pytest

# No deadline: a busy machine is not a failure. The same cases in every run.
hypothesis.settings.register_profile("limen", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("limen")

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Program:
    """The program limen, to compare with."""

    def __init__(self, path, folder):
        self.path = path
        self.folder = folder

    def __call__(self, *arguments, code=0):
        done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True, cwd=self.folder)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    def write_csv(self, name, columns):
        """A CSV file whose numbers read back exactly."""
        rows = zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)
        lines = [",".join(columns), *(",".join(map(_text, row)) for row in rows)]
        (self.folder / name).write_text("\n".join(lines) + "\n")
        return name

    def write_table(self, name, y, score, uncertainty, sample_weight=None):
        columns = {"label": y, "score": score, "uncertainty": uncertainty}
        if sample_weight is not None:
            columns["weight"] = sample_weight
        return self.write_csv(name, columns)


def _text(value):
    return value if isinstance(value, str) else "" if value is None else repr(value)


@pytest.fixture
def program(tmp_path):
    """LIMEN_PROGRAM, or the release build; tests that compare with it are skipped where there is none."""
    path = os.environ.get("LIMEN_PROGRAM", str(ROOT / "build/release/bin/limen"))
    if not os.path.exists(path):
        assert "LIMEN_PROGRAM" not in os.environ, f"{path} is not there"
        pytest.skip("the program limen is not built")
    return Program(path, tmp_path)
