"""Models on data sets of Ray: ``predict`` maps batches in actors that hold a session.

::

    import ray, onnxtxt.ray

    ds = ray.data.read_parquet("flowers")
    ds = onnxtxt.ray.predict(ds, "iris.onnx", columns={"X": ["length", "width"]}, errors="column")

The function needs the package ``ray`` with ``ray[data]``; the module is not imported with ``onnxtxt``. Workers need ``onnxtxt`` of the same version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from onnxtxt.arrow._shipping import Parcel, on_this_machine, pack

try:
    import ray  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import ray.data  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ModuleNotFoundError:
    ray = None

__all__ = ["predict"]


def predict(
    ds: Any,
    model: Any,
    *,
    workers: int | tuple[int, int] | None = None,
    num_cpus: int = 1,
    session: Mapping[str, Any] | None = None,
    ray_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """A data set with a column for each output of a model.

    ``model`` is whatever ``onnxtxt.open`` reads; ``options`` are those of ``onnxtxt.arrow.Predictor`` (``columns``, ``outputs``, ``errors``, …).
    ``workers`` is the number of actors, or the least and the most; by default, as many as Ray finds use for. Each has ``num_cpus``
    processors and uses as many threads. ``session`` has arguments of ``onnxtxt.Session``, ``ray_options`` those of ``Dataset.map_batches``.

    The model is put into the store of objects, fetched once by each machine, and mapped by its actors from a file; so are its packed weights,
    from the cache folder of the user (``session={"cache": False}``: each actor packs its own). Blocks are batches, unless
    ``ray_options`` has a ``batch_size``; each run has at most ``max_bytes`` of inputs. Types and names are checked when the first batch comes.
    """
    if ray is None:
        raise ImportError("onnxtxt.ray needs the package ray with ray[data], which is not installed", name="ray")
    if int(num_cpus) != num_cpus or num_cpus < 1:
        raise ValueError(f"num_cpus is {num_cpus}, expected an integer from 1 on: a session uses as many threads")
    parcel, content, _ = pack(model, session, options)
    pool = ray.data.ActorPoolStrategy(**_pool(workers))
    # As an array, it stays in the shared memory of the store.
    stored = ray.put(np.frombuffer(content, np.uint8))
    given = {"batch_format": "pyarrow", "udf_modifying_row_count": False, **(ray_options or {})}
    return ds.map_batches(
        _Worker, compute=pool, num_cpus=num_cpus, fn_constructor_args=(parcel, [stored], int(num_cpus)), **given
    )


def _pool(workers: int | tuple[int, int] | None) -> dict[str, int]:
    if workers is None:
        return {"min_size": 1}
    if isinstance(workers, int):
        return {"size": workers}
    least, most = workers
    return {"min_size": least, "max_size": most}


class _Worker:
    """An actor with a session."""

    def __init__(self, parcel: Parcel, stored: list[Any], threads: int) -> None:
        # The reference is in a list, so that the content is fetched only by the first actor of a machine.
        [content] = stored
        self._predictor = parcel.predict_with(lambda: on_this_machine(parcel, lambda: ray.get(content)), threads)

    def __call__(self, batch: Any) -> Any:
        return self._predictor(batch)
