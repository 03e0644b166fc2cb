"""A cluster of Ray and one of Spark, on this machine."""

import atexit
import os
import shutil
import sys
import tempfile

import pytest


def pytest_configure(config):
    # Workers import what this process imports.
    os.environ["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), os.path.dirname(__file__)]).strip(os.pathsep)
    # Packed weights are shared by the workers of these tests, not with other programs of the user.
    cache = tempfile.mkdtemp(prefix="onnxtxt-cache-")
    atexit.register(shutil.rmtree, cache, ignore_errors=True)
    os.environ["ONNXTXT_CACHE"] = cache
    os.environ["RAY_DEDUP_LOGS"] = "0"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Workers are not to give way to whatever else the machine does.
    os.environ["RAY_worker_niceness"] = "0"
    os.environ["PYSPARK_PYTHON"] = sys.executable


def start_ray(cpus):
    """Starts Ray, once more if that takes longer than it waits, as on a busy machine."""
    import ray

    for attempt in range(4):
        try:
            return ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False, configure_logging=False)
        except Exception as why:
            if attempt == 3 or "timed out" not in str(why):
                raise
            ray.shutdown()


@pytest.fixture(scope="session")
def ray():
    ray = pytest.importorskip("ray")
    import ray.data

    # More than there are: actors of a data set that has failed keep theirs for a while.
    start_ray(6)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.fixture(scope="session")
def spark():
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,4]").appName("onnxtxt").config("spark.ui.enabled", False)
    builder = builder.config("spark.driver.memory", "4g").config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    session = builder.config("spark.sql.execution.arrow.pyspark.enabled", True).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
