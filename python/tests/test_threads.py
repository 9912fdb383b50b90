# SPDX-License-Identifier: MIT
import concurrent.futures
import subprocess
import sys
import threading

import limen
import numpy as np
import pytest
from limen import _core
from rows import make_rows

ROWS = make_rows(20_000, seed=6)
BOUNDARY = limen.fit_boundary(*ROWS, min_precision=0.6)
CALIBRATOR = limen.LevelIsotonic().fit(np.column_stack(ROWS[1:]), ROWS[0])
EVIDENCE = _core.Evidence(["key"], [ROWS[1]], None, None, 32, 2.0, 0)
CALLS = {
    "fit_boundary": lambda: limen.fit_boundary(*ROWS, min_precision=0.6),
    "decide": lambda: BOUNDARY.decide(*ROWS[1:]),
    "evaluate": lambda: BOUNDARY.evaluate(*ROWS),
    "compare": lambda: limen.compare(ROWS, ROWS, min_precision=0.6, methods=["st"]),
    "frontier": lambda: limen.frontier(*ROWS),
    "simulate": lambda: limen.simulate(regions=1000, holdout_rows=1000, test_rows=1000),
    "LevelIsotonic.fit": lambda: _core.fit_level_calibration(
        (ROWS[0].view(np.uint8), *ROWS[1:], None), 3, "equi-weight", 0.0
    ),
    "LevelIsotonic.calibrate": lambda: CALIBRATOR.calibrate(*ROWS[1:]),
    "labels": lambda: _core.copy_labels(ROWS[1], np.empty(20_000, np.uint8)),
    "beta_entropy": lambda: _core.beta_entropy(ROWS[1] + 1, ROWS[2] + 1),
    "ensemble": lambda: _core.ensemble([ROWS[1], ROWS[2]]),
    "evidence": lambda: _core.Evidence(["key"], [ROWS[1]], None, None, 32, 2.0, 0),
    "law": lambda: _core.fit_frame_law(
        ["key"], [ROWS[1]], [ROWS[2]], ROWS[1], ROWS[0].view(np.uint8), 32, 6, 0.01, 2.0, 1000, 20, 2000, 0, 0
    ),
    "query": lambda: EVIDENCE.query([ROWS[1]], False, None, None),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_threads_run_meanwhile(name):
    """With switches between threads far apart, another thread gets its turn only where a call lets it."""
    begun, noticed = threading.Event(), []

    def work():
        begun.set()
        for _ in range(300):
            CALLS[name]()
            if noticed:
                return True
        return False

    interval = sys.getswitchinterval()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        sys.setswitchinterval(1000)
        try:
            result = pool.submit(work)
            begun.wait()
            noticed.append(True)
            assert result.result()
        finally:
            sys.setswitchinterval(interval)


def test_eight_fits_at_once_give_the_results_of_one():
    goals = [dict(min_precision=0.5 + at / 20, levels=1 + at % 4) for at in range(8)]
    rows = make_rows(100_000, seed=6)
    alone = [limen.fit_boundary(*rows, **goal).to_json() for goal in goals]
    decided = [limen.Boundary.from_json(text).decide(*rows[1:]) for text in alone]

    def fit(goal):
        boundary = limen.fit_boundary(*rows, **goal)
        return boundary.to_json(), boundary.decide(*rows[1:])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            for at, (text, decision) in enumerate(pool.map(fit, goals)):
                assert text == alone[at]
                assert (decision == decided[at]).all()


def test_the_number_of_threads_does_not_change_the_result():
    rows = make_rows(200_000, seed=5, dtype=np.float32)
    expected = limen.fit_boundary(*rows, min_precision=0.7, levels=5).to_json()
    for num_threads in (None, 0, 1, 2, 64):
        assert limen.fit_boundary(*rows, min_precision=0.7, levels=5, num_threads=num_threads).to_json() == expected


FORK = """
import multiprocessing
import limen

data = limen.simulate(regions=5000, holdout_rows=100_000, test_rows=0)

def fit(bound):
    return limen.fit_boundary(*data.holdout.columns, min_precision=bound, levels=5).to_json()

alone = [fit(bound) for bound in (0.4, 0.5, 0.6)]
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(fit, (0.4, 0.5, 0.6)) == alone)
"""


def test_forked_children_fit_too():
    """The parent's worker threads are not in the child; nothing there may wait for them."""
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=300)
    assert done.stdout == "True\n", done.stderr
