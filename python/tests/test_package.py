# SPDX-License-Identifier: MIT
import doctest
import importlib
import pathlib
import pkgutil
import re
import subprocess
import sys

import limen
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_limen_imports_nothing_heavy():
    loaded = set(run("import sys, limen; print(*sys.modules)").split())
    assert "limen" in loaded
    assert not loaded & {
        "sklearn",
        "pandas",
        "matplotlib",
        "scipy",
        "torch",
        "polars",
        "pyarrow",
        "onnx",
        "skl2onnx",
        "duckdb",
    }


def test_fitting_needs_numpy_alone():
    code = """
import sys
for name in ("sklearn", "pandas", "matplotlib", "scipy", "polars", "pyarrow"):
    sys.modules[name] = None  # any import of it fails
import limen
data = limen.simulate(regions=50, holdout_rows=500, test_rows=500)
boundary = limen.fit_boundary(*data.holdout.columns, min_precision=0.4)
assert boundary.decide(*data.test.columns[1:]).any()
boundary.evaluate(*data.test.columns)
limen.compare(data.holdout, data.test, min_precision=0.4)
print(len(limen.frontier(*data.holdout.columns).hull) > 1)
"""
    assert run(code) == "True\n"


def test_the_version_is_that_of_the_library():
    header = (ROOT / "base/include/limen/base/version.h").read_text()
    (version,) = re.findall(r'kLimenVersion = "(.*)"', header)
    assert limen.__version__ == importlib.metadata.version("limen") == version


def test_the_package_is_typed_and_complete():
    folder = pathlib.Path(limen.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_core.pyi").read_text()
    for name in (name for name in dir(limen._core) if not name.startswith("_")):
        assert re.search(rf"((def|class) {name}\b|^{name}:)", stub, re.MULTILINE), name
    assert "def fit_boundary" in stub
    assert list(folder.glob("libtbb.so.*"))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'limen' has no attribute 'fit'"):
        limen.fit  # noqa: B018
    assert {"fit_boundary", "BoundaryClassifier"} <= set(dir(limen))


@pytest.mark.parametrize("name", [module.name for module in pkgutil.walk_packages(limen.__path__, "limen.")])
def test_examples_in_docstrings(name):
    if name == "limen.spark":
        pytest.importorskip("pyspark")
    module = importlib.import_module(name)
    result = doctest.testmod(module)
    assert result.failed == 0


@pytest.mark.parametrize(
    "page", ["README.md", "docs/python.md", pytest.param("docs/deploy.md", marks=pytest.mark.engines)]
)
def test_examples_in_documents(page, tmp_path, monkeypatch):
    """Every block of Python runs, one after the other, and gives what it shows."""
    if page == "docs/deploy.md":
        for engine in ("duckdb", "onnx", "onnxruntime"):
            pytest.importorskip(engine)
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    session = {}
    for block in blocks:
        if ">>>" not in block:
            exec(compile(block, page, "exec"), session)
            continue
        test = doctest.DocTestParser().get_doctest(block, session, page, page, 0)
        runner = doctest.DocTestRunner()
        runner.run(test, clear_globs=False)
        assert runner.failures == 0
        session = test.globs
