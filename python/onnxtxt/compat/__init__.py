"""The modules of the package `onnx` that work on models, with the same signatures, over this package.

>>> from onnxtxt.compat import parser, printer
>>> node = parser.parse_node("y = Relu(x)")
>>> node.op_type, printer.to_text(node)
('Relu', 'y = Relu(x)')

Messages are those of the package `onnx` where it is installed, and otherwise objects with the same fields: these modules need NumPy alone.
"""
