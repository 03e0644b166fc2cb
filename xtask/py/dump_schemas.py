"""Writes what the installed `onnx` package knows of operators and releases as JSON: facts, no documentation.

    python dump_schemas.py > facts.json

`cargo xtask codegen` makes Rust tables of it, and a test compares those tables with it again. Lists are sorted, so
that equal packages give equal files.
"""

import json
import sys

import numpy as np
import onnx
from onnx import checker, defs, helper

UNLIMITED = 2**31 - 1
KINDS = {"Single": "single", "Optional": "optional", "Variadic": "variadic"}
BODIES = {(False, False): "none", (True, False): "fixed", (False, True): "per_node", (True, True): "per_node"}


def type_text(text):
    """`map(int64, float)` is an old way to write `map(int64,tensor(float))`."""
    text = text.replace(" ", "")
    if "map(" in text and "tensor(" not in text:
        head, element = text.rstrip(")").split(",")
        text = f"{head},tensor({element})" + ")" * (text.count("("))
    return text


def types(texts):
    return sorted({type_text(text) for text in texts})


def parameter(p):
    facts = {"name": p.name, "kind": KINDS[p.option.name], "type": type_text(p.type_str), "types": types(p.types)}
    if facts["kind"] == "variadic":
        facts |= {"min": p.min_arity, "homogeneous": p.is_homogeneous}
    return facts


def attribute(a):
    facts = {"name": a.name, "type": int(a.type.value), "required": a.required}
    if a.default_value.type:
        value = helper.get_attribute_value(a.default_value)
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, float):
            # JSON has no floats of 32 bits, so they come as their bits.
            value = int(np.float32(value).view(np.uint32))
        elif isinstance(value, list):
            assert not any(isinstance(v, float) for v in value), "lists of floats want their bits too"
            value = [v.decode() if isinstance(v, bytes) else v for v in value]
        facts["default"] = value
    return facts


def accepts(schema, inputs, outputs):
    """Whether the checker takes these numbers of inputs and outputs, whatever else it says of the node."""
    node = helper.make_node(
        schema.name,
        [f"i{n}" for n in range(inputs)],
        [f"o{n}" for n in range(outputs)],
        domain=schema.domain,
    )
    context = checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = {schema.domain: schema.since_version}
    try:
        checker.check_node(node, context)
    except checker.ValidationError as error:
        message = str(error)
        return "put size " not in message and "not in range" not in message
    return True


def counts(least, greatest, is_accepted):
    """The accepted numbers, if they are not the whole range. The package does not tell a set of allowed numbers."""
    if greatest == UNLIMITED:
        # A set beside a variadic parameter would be finite.
        assert all(is_accepted(n) for n in (least, least + 1, least + 9))
        return []
    accepted = [n for n in range(least, greatest + 1) if is_accepted(n)]
    return [] if len(accepted) == greatest + 1 - least else accepted


def schema_facts(schema):
    facts = {
        "domain": schema.domain,
        "name": schema.name,
        "since": schema.since_version,
        "inputs": [parameter(p) for p in schema.inputs],
        "outputs": [parameter(p) for p in schema.outputs],
        "attributes": [attribute(a) for _, a in sorted(schema.attributes.items())],
        "variables": sorted(
            ({"name": c.type_param_str, "types": types(c.allowed_type_strs)} for c in schema.type_constraints),
            key=lambda c: c["name"],
        ),
        "min_input": schema.min_input,
        "max_input": None if schema.max_input == UNLIMITED else schema.max_input,
        "min_output": schema.min_output,
        "max_output": None if schema.max_output == UNLIMITED else schema.max_output,
        "deprecated": schema.deprecated,
        "experimental": schema.support_level.name == "EXPERIMENTAL",
        "random": schema.node_determinism.name == "NonDeterministic",
        "body": BODIES[schema.has_function, schema.has_context_dependent_function],
    }
    # The checker looks at no deprecated node.
    if not schema.deprecated:
        facts["input_counts"] = counts(
            schema.min_input, schema.max_input, lambda n: accepts(schema, n, schema.min_output)
        )
        inputs = next(iter(facts["input_counts"]), schema.min_input)
        facts["output_counts"] = counts(
            schema.min_output, schema.max_output, lambda n: accepts(schema, inputs, n)
        )
    else:
        facts |= {"input_counts": [], "output_counts": []}
    return facts


def lookups(name, domain, newest):
    """`since` of the schema in force at each version from 1 on, or None."""
    found = []
    for version in range(1, newest + 1):
        try:
            found.append(defs.get_schema(name, version, domain).since_version)
        except defs.SchemaError:
            found.append(None)
    return found


def main():
    schemas = sorted(
        defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, s.since_version)
    )
    newest = {d: last for d, (_, last) in defs.C.schema_version_map().items() if any(s.domain == d for s in schemas)}
    json.dump(
        {
            "version": onnx.__version__,
            "schemas": [schema_facts(s) for s in schemas],
            "newest": newest,
            "lookups": [
                {"domain": d, "name": n, "since": lookups(n, d, newest[d])}
                for d, n in sorted({(s.domain, s.name) for s in schemas})
            ],
            # Package, IR, ai.onnx, ai.onnx.ml, and ai.onnx.training where there is one.
            "releases": [list(row) for row in helper.VERSION_TABLE],
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
