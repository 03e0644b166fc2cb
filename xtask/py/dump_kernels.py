"""Writes which operators the installed `onnxruntime` package runs on a CPU, as a table of `crates/onnx-ops/targets`.

    python dump_kernels.py > ort.txt

A line holds for versions of an operator (`since`), not of its domain. Kernels of an operator and a range of versions are one line; a type variable has the types that any of them takes. Exits with 3
where the package is not installed. The newest versions that it takes are found by trying.
"""

import itertools
import sys

import dump_attributes

HEAD = """\
# onnxruntime {version}, CPU: from its package, by xtask/py/dump_kernels.py (`cargo xtask codegen`).
# Operators that are defined by functions are run through them, float16 as float where a kernel is missing.
# domain operator versions types, and values of attributes that are refused (xtask/py/dump_attributes.py).
distinct names
bodies
widens float16 float
ir {ir}
imports ai.onnx {onnx}
imports ai.onnx.ml {ml}
"""
NEWEST = 2**31 - 1


def takes(runtime, ir, **versions):
    """Whether a model with these versions can be loaded."""
    import onnx
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    names = {"onnx": "", "ml": "ai.onnx.ml"}
    imports = [helper.make_opsetid(names[name], version) for name, version in versions.items()]
    model = helper.make_model(graph, opset_imports=imports)
    model.ir_version = ir
    try:
        runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception:
        return False
    return True


def newest(is_taken, first):
    """The last of the versions from `first` on that are taken."""
    return next(version for version in itertools.count(first) if not is_taken(version + 1))


def main():
    try:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as runtime
    except ImportError:
        sys.exit(3)
    kernels = {}
    for kernel in runtime.get_all_opkernel_def():
        key = (kernel.domain or "ai.onnx", kernel.op_name, *kernel.version_range)
        kernels.setdefault(key, []).append(kernel.type_constraints)
    # Constants are stored before there is a kernel to be looked for.
    lines = ["ai.onnx Constant 1-"]
    for (domain, name, first, last), constraints in sorted(kernels.items()):
        types = []
        # A variable that one of the kernels does not mention may be anything.
        for variable in sorted(set.intersection(*(set(c) for c in constraints))):
            allowed = sorted({t for c in constraints for t in c[variable]})
            if all(t.startswith("tensor(") for t in allowed):
                types.append(f"{variable}={','.join(t[7:-1] for t in allowed)}")
        # A kernel without a last version is for the very version that it begins with.
        last = first if last == NEWEST else last
        lines.append(" ".join([domain, name, f"{first}-{last}", *types]))
    onnxruntime.set_default_logger_severity(4)
    limits = {
        "ir": newest(lambda ir: takes(onnxruntime, ir, onnx=20), 8),
        "onnx": newest(lambda version: takes(onnxruntime, 8, onnx=version), 20),
        "ml": newest(lambda version: takes(onnxruntime, 8, onnx=20, ml=version), 3),
    }
    print(HEAD.format(version=onnxruntime.__version__, **limits), end="")
    print("\n".join([*lines, *dump_attributes.lines()]))


main()
