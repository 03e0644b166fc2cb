"""Models beyond what protobuf holds: their weights are in a file with holes, which takes neither memory nor disk."""

import resource
import sys

import numpy as np
import pytest

import onnxtxt

COUNT = (2**31 + 4096) // 4


@pytest.fixture
def model(tmp_path):
    with open(tmp_path / "w.bin", "wb") as file:
        file.truncate(4 * COUNT)
    text = f"""<ir_version: 10, opset_import: ["": 21]>
    g (float[{COUNT}] x) => (float[{COUNT}] y) <float[{COUNT}] w = ["location": "w.bin"]> {{ y = Add(x, w) }}"""
    (tmp_path / "m.onnxtxt").write_text(text)
    return onnxtxt.open(tmp_path / "m.onnxtxt")


@pytest.mark.skipif(sys.platform == "win32", reason="files have no holes")
def test_more_than_2_gib_is_refused_where_protobuf_cannot_hold_it(model, tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for call in (model.to_bytes, lambda: model.save(tmp_path / "n.onnx", external_data=False)):
        with pytest.raises(onnxtxt.Error, match=r"the file would have 21474\d+ bytes, but protobuf is limited to 2147483647: .*external_data=True"):
            call()
    assert not (tmp_path / "n.onnx").exists()
    if "onnx" in sys.modules or pytest.importorskip("onnx"):
        with pytest.raises(onnxtxt.Error, match="protobuf is limited to 2147483647"):
            model.to_proto()
        # The weights stay in their file.
        kept = model.to_proto(external_data="keep")
        assert [tensor.external_data[0].value for tensor in kept.graph.initializer] == ["w.bin"]
    assert len(model.to_bytes(external_data="keep")) < 1000
    weight = model.graph.initializers["w"]
    assert weight.shape == (COUNT,) and not np.any(weight[:: COUNT // 8])
    # The peak is in KiB on Linux, in bytes on macOS.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < (1 << 28)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no holes")
def test_a_save_that_fails_leaves_weights_where_they_are(model, tmp_path):
    with pytest.raises(onnxtxt.Error):
        model.save(tmp_path / "n.onnx", external_data=False)
    model.save(tmp_path / "kept.onnx")
    assert (tmp_path / "kept.onnx").stat().st_size < 1000
    again = onnxtxt.open(tmp_path / "kept.onnx")
    assert again.graph.initializers["w"].shape == (COUNT,)
