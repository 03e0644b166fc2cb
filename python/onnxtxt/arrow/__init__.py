"""Models on batches of Arrow: columns are inputs, results are columns.

::

    import pyarrow as pa, onnxtxt, onnxtxt.arrow

    predictor = onnxtxt.arrow.Predictor(onnxtxt.Session("iris.onnx"), columns={"X": ["length", "width"]}, errors="column")
    table = predictor(pa.table({"length": [5.1, 4.9], "width": [3.5, None]}))

Columns may be numbers, booleans, strings, nested lists, lists of fixed size, tensors (``pa.fixed_shape_tensor``, those of Ray), dictionaries and
runs. Numbers of the type of the input are not copied, nor are results. ``onnxtxt.ray`` and ``onnxtxt.spark`` use it in clusters. The module needs
the package ``pyarrow``, and is not imported with ``onnxtxt``.
"""

from onnxtxt.arrow._predictor import Predictor, RowError

__all__ = ["Predictor", "RowError"]
