"""Says of each model of a folder whether onnxruntime has an implementation of its nodes: a JSON object with `true`, `false`, or
`null` where it refuses the model for another reason. `null` as a whole without the package.

    python load_models.py target/corpus/backend/node
"""

import json
import sys
from pathlib import Path


def verdict(runtime, path):
    try:
        runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:
        return False if "NOT_IMPLEMENTED" in str(error) else None
    return True


def main(folder):
    try:
        import onnxruntime as runtime
    except ImportError:
        print("null")
        return
    runtime.set_default_logger_severity(4)
    models = sorted(Path(folder).glob("*/model.onnx"))
    print(json.dumps({path.parent.name: verdict(runtime, path) for path in models}))


main(sys.argv[1])
