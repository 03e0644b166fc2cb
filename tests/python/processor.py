"""What ONNX Runtime computes otherwise on some processors; as a program, prints whether it does."""

import functools
import json


@functools.cache
def saturates():
    """Whether its products of uint8 and int8 are wrong beyond 7 bits.

    x86 processors without VNNI add pairs of such products in 16 bits, with saturation. Its option for exact products is heeded
    by optimisations only, and for constants only.
    """
    import numpy as np
    import onnxruntime
    from onnx import parser

    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]>
        g (uint8[1,2] a, int8[2,1] b) => (int32[1,1] y) { y = MatMulInteger(a, b) }"""
    )
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    product = session.run(None, {"a": np.full((1, 2), 255, "uint8"), "b": np.full((2, 1), 127, "int8")})[0]
    return product.item() != 2 * 255 * 127


def exact(kind, numbers):
    """Drawn integers of a type, such that the products of bytes that ONNX Runtime judges are exact."""
    return numbers.clip(-64, 63) if kind == "int8" and saturates() else numbers


if __name__ == "__main__":
    print(json.dumps(saturates()))
