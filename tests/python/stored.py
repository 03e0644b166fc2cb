"""Runs the models of the corpus that have expected outputs, and says how far ours are from them.

    python stored.py PROGRAM MODELS SCRATCH

Beside a model NAME.onnx of a folder of MODELS, NAME.npz has in_<input> and out_<output>, the outputs of ONNX Runtime without
graph optimisation. For each, one line of JSON: the name, and either `worst`, the largest difference as a part of the largest
magnitude of its output, or `why` it cannot be said. Sequences and maps (outjson_<name>) are not compared.
"""

import json
import pathlib
import subprocess
import sys

import numpy as np


def differ(ours, theirs):
    """The largest difference, or a sentence."""
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, expected is {theirs.shape}"
    if theirs.dtype.kind in "US":
        return 0.0 if (ours.astype(str) == theirs.astype(str)).all() else "other strings"
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(theirs)
    if (np.isfinite(ours) != finite).any():
        return "other elements are finite"
    scale = np.abs(theirs[finite]).max(initial=0.0)
    difference = np.abs(ours[finite] - theirs[finite]).max(initial=0.0)
    return float(difference / scale) if scale > 0 else float(difference)


def run(program, model, stored, scratch):
    """What is to be said of one model."""
    expected = np.load(stored, allow_pickle=False)
    inputs, outputs = scratch / "in.npz", scratch / "out.npz"
    np.savez(inputs, **{key[3:]: expected[key] for key in expected.files if key.startswith("in_")})
    command = [program, "run", str(model), "-i", str(inputs), "-o", str(outputs), "--format", "short"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"why": done.stderr.strip()[:500]}
    ours, worst = np.load(outputs, allow_pickle=False), 0.0
    for key in expected.files:
        if not key.startswith("out_"):
            continue
        if key[4:] not in ours.files:
            return {"why": f"no output {key[4:]}"}
        found = differ(ours[key[4:]], expected[key])
        if isinstance(found, str):
            return {"why": f"{key[4:]}: {found}"}
        worst = max(worst, found)
    return {"worst": worst}


def main():
    program, models, scratch = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    for stored in sorted(models.glob("*/*.npz")):
        model = stored.with_suffix(".onnx")
        if model.is_file():
            print(json.dumps({"name": model.stem, **run(program, model, stored, scratch)}), flush=True)


if __name__ == "__main__":
    main()
