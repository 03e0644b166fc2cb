"""Models of PyTorch: exported with the places of their source as comments, and verified.

::

    import torch, onnxtxt.torch

    module = torch.nn.Linear(4, 3).eval()
    x = torch.randn(2, 4)
    model = onnxtxt.torch.export(module, (x,), dynamic_shapes=({0: "N"},))
    print(onnxtxt.torch.verify(model, module, (x,)))

The functions need the packages ``torch`` and ``onnxscript``; the module is not imported with ``onnxtxt``.
"""

from __future__ import annotations

import logging
import re
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

try:
    import torch  # type: ignore[import-not-found, unused-ignore]
except ModuleNotFoundError:
    torch = None

from onnxtxt._compare import Comparison, compare
from onnxtxt._native import Model, Session, decode
from onnxtxt._native import open as open_model

__all__ = ["export", "verify"]

#: Larger models are exported through a file, because protobuf cannot hold them.
_MAX_BYTES = 1 << 30
_TRACE = "pkg.torch.onnx.stack_trace"
_PLACE = re.compile(r'File "(?P<file>.*)", line (?P<line>\d+), in (?P<function>.*)')


def export(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    comments: bool = True,
    keep_metadata: bool = False,
    verify: bool = False,
    **options: Any,
) -> Model:
    """Exports a module by ``torch.onnx.export`` (with dynamo) and returns a ``Model``.

    ``args`` and ``kwargs`` are an example of its inputs; ``options`` are those of ``torch.onnx.export``, such as ``dynamic_shapes``,
    ``input_names`` and ``opset_version``. With ``comments``, each node has the places in the source that it comes from, and their lines,
    as a comment (``Node.comment``), once for the nodes of one line; the metadata that they are from is removed, unless ``keep_metadata``
    is true. With ``verify``, the model is compared with the module for these inputs.

    Raises what ``torch.onnx.export`` raises, and ``AssertionError`` with the report if ``verify`` finds a difference.
    """
    _ensure_torch()
    options.setdefault("verbose", False)
    # torch warns about extensions that it would use if they were there.
    logger = logging.getLogger("torch.utils.flop_counter")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        program = torch.onnx.export(module, tuple(args), kwargs=dict(kwargs) if kwargs else None, dynamo=True, **options)
    finally:
        logger.setLevel(level)
    assert program is not None, "torch.onnx.export has returned no program"
    model = _model(program)
    if comments:
        _comment(model, keep_metadata)
    if verify:
        _verify(model, module, args, kwargs, None, None)
    return model


def _ensure_torch() -> None:
    if torch is None:
        raise ImportError("onnxtxt.torch needs the packages torch and onnxscript, which are not installed", name="torch")


def _model(program: Any) -> Model:
    weights = program.model.graph.initializers.values()
    if sum(weight.const_value.nbytes for weight in weights if weight.const_value is not None) <= _MAX_BYTES:
        return decode(program.model_proto.SerializeToString())
    folder = tempfile.TemporaryDirectory(prefix="onnxtxt-torch-", ignore_cleanup_errors=True)
    program.save(f"{folder.name}/model.onnx", external_data=True)
    model = open_model(f"{folder.name}/model.onnx")
    # The weights are mapped there.
    weakref.finalize(model, folder.cleanup)
    return model


def _comment(model: Model, keep_metadata: bool) -> None:
    """Turns the stack traces in the metadata of nodes into comments."""
    last = None
    for node in _nodes(model):
        metadata = dict(node.metadata)
        trace = metadata.get(_TRACE)
        if trace is None:
            continue
        comment = _shown(trace)
        # The nodes of one line follow one another.
        if comment != last:
            node.comment = comment
        last = comment
        if not keep_metadata:
            kept = {key: value for key, value in metadata.items() if key != "namespace" and not key.startswith("pkg.torch.onnx.")}
            node.metadata = kept


def _nodes(model: Model) -> Iterator[Any]:
    yield from model.graph.all_nodes()
    for function in model.functions:
        if function.graph is not None:
            yield from function.graph.all_nodes()


def _shown(trace: str) -> str:
    """``file:line in function: code`` for each frame, the innermost last."""
    lines: list[str] = []
    for line in trace.splitlines():
        place = _PLACE.match(line.strip())
        if place:
            lines.append(f"{place['file']}:{place['line']} in {place['function']}")
        elif lines and line.strip():
            lines[-1] += f": {line.strip()}"
    return "\n".join(lines)


def verify(
    model: Model,
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> Comparison:
    """Runs a model and the module that it was exported from with the same inputs, and compares their outputs in order.

    ``rtol`` and ``atol`` are those of ``onnxtxt.compare``. Returns the ``Comparison``.

    Raises ``AssertionError`` with the report if outputs differ, and ``ValueError`` if their numbers do.
    """
    return _verify(model, module, args, kwargs, rtol, atol)


def _verify(
    model: Model,
    module: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    rtol: float | None,
    atol: float | None,
) -> Comparison:
    _ensure_torch()
    session = Session(model)
    names = [port.name for port in session.inputs if not port.has_default]
    given = _tensors((tuple(args), dict(kwargs or {})))
    if len(given) != len(names):
        raise ValueError(f"the model has the {len(names)} inputs {', '.join(names)}, but {len(given)} tensors were given")
    # A module may change its inputs.
    feeds = {name: tensor.detach().cpu().clone() for name, tensor in zip(names, given)}
    with torch.no_grad():
        expected = _tensors(module(*args, **dict(kwargs or {})))
    ports = session.outputs
    if len(expected) != len(ports):
        raise ValueError(f"the model has {len(ports)} outputs, but the module returns {len(expected)} tensors")
    results = session.run({name: _array(tensor) for name, tensor in feeds.items()})
    wanted = {port.name: _array(tensor.detach().cpu()) for port, tensor in zip(ports, expected)}
    comparison = compare(results, wanted, rtol=rtol, atol=atol, models=[model])
    if not comparison:
        raise AssertionError(f"the model computes something else than the module:\n{comparison}")
    return comparison


def _tensors(tree: Any) -> list[Any]:
    """The tensors in nested tuples, lists, dictionaries and outputs of modules, in order."""
    leaves, _ = torch.utils._pytree.tree_flatten(tree)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _array(tensor: Any) -> Any:
    """A tensor as an array; types that NumPy does not have are those of ml_dtypes."""
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return tensor.contiguous().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()
