# SPDX-License-Identifier: MIT
"""Engines for tests: a PostgreSQL server of the test's own, and a Spark session.

Both as fixtures of a session; tests that use them are marked `engines` and skipped where the engine is not installed.
"""

import contextlib
import glob
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import pytest


def _postgres_program(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}")) or [shutil.which(name)]
    if found[-1] is None:
        pytest.skip("PostgreSQL is not installed (scripts/setup)")
    return found[-1]


def _free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def postgres_server():
    """Starts PostgreSQL in a folder of its own, on a free port of the loopback; gives what psycopg.connect takes.

    PostgreSQL refuses to run as root: then it runs as the user postgres, or nobody.
    """
    psycopg = pytest.importorskip("psycopg")
    initdb, postgres = _postgres_program("initdb"), _postgres_program("postgres")
    user = {}
    folder = tempfile.mkdtemp(prefix="limen-postgres-")
    try:
        if os.getuid() == 0:
            account = next(entry for entry in pwd.getpwall() if entry.pw_name in ("postgres", "nobody"))
            user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            os.chown(folder, account.pw_uid, account.pw_gid)
        password = secrets.token_hex(16)
        secret = os.path.join(folder, "secret")
        with open(secret, "w") as file:
            file.write(password)
        if user:
            os.chown(secret, user["user"], user["group"])
        data = os.path.join(folder, "data")
        made = subprocess.run(
            [initdb, "-D", data, "-U", "limen", "--pwfile", secret, "--auth=scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"],
            cwd=folder, capture_output=True, text=True, **user,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        port = _free_port()
        with open(os.path.join(folder, "log"), "w") as log:
            settings = {
                "listen_addresses": "127.0.0.1",
                "fsync": "off",
                "synchronous_commit": "off",
                "max_connections": "10",
            }
            options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
            server = subprocess.Popen(
                [postgres, "-D", data, "-p", str(port), "-k", folder, *options],
                cwd=folder,
                stdout=log,
                stderr=log,
                **user,
            )
        try:
            where = {"host": "127.0.0.1", "port": port, "user": "limen", "password": password, "dbname": "postgres"}
            for _ in range(600):
                assert server.poll() is None, open(os.path.join(folder, "log")).read()
                with contextlib.suppress(psycopg.OperationalError):
                    psycopg.connect(**where).close()
                    break
                time.sleep(0.1)
            yield where
        finally:
            server.send_signal(2)  # a fast shutdown
            server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres():
    psycopg = pytest.importorskip("psycopg")
    with postgres_server() as where, psycopg.connect(**where, autocommit=True) as connection:
        yield connection


@contextlib.contextmanager
def spark_session():
    """A Spark session of two local threads, without its web page."""
    pyspark_sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed (scripts/setup)")
    # Its workers run this very Python; its server listens on the loopback alone.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    folder = tempfile.mkdtemp(prefix="limen-spark-")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": folder,
        "spark.local.dir": folder,
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "ERROR",
    }
    builder = pyspark_sql.SparkSession.builder.master("local[2]").appName("limen")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark():
    with spark_session() as session:
        yield session
