"""Writes what the installed `onnxruntime` package knows of the operators that it adds to the standard as JSON: facts, no
documentation. `null` without the package.

    python dump_contributed.py com.microsoft > facts.json

A test compares `crates/onnx-ops/opsets` with it. Lists are sorted as they are there.
"""

import json
import sys

KINDS = {"Single": "single", "Optional": "optional", "Variadic": "variadic"}


def parameters(params, least):
    facts = []
    for i, p in enumerate(params):
        kind = KINDS[p.option.name]
        fact = {"name": p.name, "kind": kind, "type": p.typeStr}
        if kind == "variadic":
            fact |= {"min": max(least - i, 0), "homogeneous": p.isHomogeneous}
        facts.append(fact)
    return facts


def operator(schema):
    attributes = sorted(schema.attributes.values(), key=lambda a: a.name)
    return {
        "name": schema.name,
        "since": schema.since_version,
        "inputs": parameters(schema.inputs, schema.min_input),
        "outputs": parameters(schema.outputs, schema.min_output),
        "attributes": [
            {"name": a.name, "type": int(a.type.value), "required": a.required} for a in attributes
        ],
        "variables": sorted(
            (
                {"name": c.type_param_str, "types": sorted(set(c.allowed_type_strs))}
                for c in schema.type_constraints
            ),
            key=lambda v: v["name"],
        ),
        "experimental": schema.support_level.name == "EXPERIMENTAL",
    }


def main(domain):
    try:
        from onnxruntime.capi import onnxruntime_pybind11_state as runtime
    except ImportError:
        print("null")
        return
    schemas = [s for s in runtime.get_all_operator_schema() if s.domain == domain]
    json.dump([operator(s) for s in sorted(schemas, key=lambda s: s.name)], sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
