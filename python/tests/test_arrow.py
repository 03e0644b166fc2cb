"""Batches of Arrow as inputs, and results as columns: types, layouts, nulls, bad rows, runs."""

import multiprocessing
import os
import pathlib
import pickle
import re
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

import onnxtxt  # noqa: E402
import onnxtxt.arrow  # noqa: E402
from onnxtxt.arrow import Predictor, RowError  # noqa: E402
from onnxtxt.arrow import _shipping as shipping  # noqa: E402
from onnxtxt.arrow._columns import read  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["": 21]>\n'


def session(graph):
    return onnxtxt.Session(onnxtxt.parse(HEAD + graph))


def predictor(graph, **options):
    return Predictor(session(graph), **options)


def same(kind="float", sizes=""):
    """A model that returns its input."""
    return f"g ({kind}[N{sizes}] x) => ({kind}[N{sizes}] y) {{ y = Identity(x) }}"


def one(column, kind="float", sizes="", **options):
    """The result of the model above for a column."""
    table = pa.table({"x": column})
    return predictor(same(kind, sizes), **options)(table).column("y").to_pylist()


#: Types of Arrow, the type of the input, values.
SCALARS = [
    (pa.int8(), "int8", [-128, 0, 127]),
    (pa.int16(), "int16", [-1, 2]),
    (pa.int32(), "int32", [-1, 2]),
    (pa.int64(), "int64", [-(1 << 63), 2]),
    (pa.uint8(), "uint8", [255, 2]),
    (pa.uint16(), "uint16", [65535, 2]),
    (pa.uint32(), "uint32", [1 << 31, 2]),
    (pa.uint64(), "uint64", [1 << 63, 2]),
    (pa.float16(), "float16", [0.5, -2.0]),
    (pa.float32(), "float", [0.5, -2.0]),
    (pa.float64(), "double", [0.1, -2.0]),
    (pa.bool_(), "bool", [True, False, True]),
    (pa.string(), "string", ["a", "", "ü"]),
    (pa.large_string(), "string", ["a", "", "ü"]),
    (pa.string_view(), "string", ["a", "", "a string that is not inline"]),
    (pa.dictionary(pa.int8(), pa.string()), "string", ["a", "b", "a"]),
    (pa.dictionary(pa.int32(), pa.int64()), "int64", [7, 7, 8]),
    (pa.run_end_encoded(pa.int32(), pa.float32()), "float", [1.5, 1.5, 2.0]),
    # Another width, if it has the values.
    (pa.int8(), "int64", [-1, 2]),
    (pa.int64(), "int32", [-1, 2]),
    (pa.int64(), "float", [-1, 1 << 24]),
    (pa.float32(), "double", [0.5]),
]


@pytest.mark.parametrize(("kind", "elem", "values"), SCALARS, ids=lambda value: str(value)[:24])
def test_scalars_of_each_type(kind, elem, values):
    column = pa.array(values, kind.value_type).dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else pa.array(values, kind)
    assert one(column, elem) == values
    assert one(column[1:], elem) == values[1:]
    assert one(pa.chunked_array([column, column[:1]]), elem) == values + values[:1]
    assert one(column[:0], elem) == []
    # As lists of one and of two axes.
    for size, sizes in ((len(values), ",M"), (len(values), f",{len(values)}")):
        offsets = pa.array([0, size], pa.int32())
        assert one(pa.ListArray.from_arrays(offsets, column), elem, sizes) == [values]


def nested(random, shape, rows, elem):
    """A tensor, and columns that have it."""
    array = random.integers(-100, 100, (rows, *shape)).astype(elem)
    kind = pa.from_numpy_dtype(array.dtype)
    lists, fixed, views = kind, kind, kind
    for size in reversed(shape):
        lists, fixed, views = pa.list_(lists), pa.list_(fixed, size), pa.large_list(views)
    values = array.tolist()
    columns = [pa.array(values, lists), pa.array(values, fixed), pa.array(values, views)]
    if shape:
        columns.append(pa.FixedShapeTensorArray.from_numpy_ndarray(array))
        flat = [row.reshape(-1).tolist() for row in array]
        columns.append(pa.array(flat, pa.list_(kind)))
    return array, columns


def test_random_nested_columns():
    random = np.random.default_rng(33)
    for _ in range(60):
        shape = tuple(random.integers(1, 4, random.integers(0, 4)).tolist())
        rows = int(random.integers(1, 9))
        elem = random.choice(["float32", "int64", "int8"])
        array, columns = nested(random, shape, rows, elem)
        begin = int(random.integers(0, rows))
        end = int(random.integers(begin, rows + 1))
        sizes = "".join(f",{size}" for size in shape)
        name = {"float32": "float", "int64": "int64", "int8": "int8"}[elem]
        run = predictor(same(name, sizes), max_bytes=int(random.integers(1, 200)))
        for column in columns:
            table = pa.table({"x": column[begin:end]})
            found = run(table).column("y")
            assert found.type == run.results.field("y").type
            storage = found.combine_chunks()
            storage = storage.storage if isinstance(found.type, pa.BaseExtensionType) else storage
            got = np.array(storage.to_pylist(), elem).reshape(end - begin, *shape)
            assert (got == array[begin:end]).all(), (shape, column.type)


def test_numbers_are_not_copied():
    array = np.arange(24, dtype=np.float32)
    flat = pa.array(array)
    for column, shape in (
        (flat, ()),
        (flat[4:], ()),
        (pa.FixedSizeListArray.from_arrays(flat, 4), (4,)),
        (pa.FixedSizeListArray.from_arrays(flat, 4)[2:], (4,)),
        (pa.ListArray.from_arrays(pa.array([0, 12, 24], pa.int32()), flat), (12,)),
        (pa.FixedShapeTensorArray.from_numpy_ndarray(array.reshape(2, 3, 4)), (3, 4)),
    ):
        rows = read(column)
        taken = rows.take(slice(0, len(rows)))
        assert np.shares_memory(taken, array) and taken.shape == (len(rows), *shape), column.type
    result = predictor(same("float", ",4")).columns(pa.table({"x": pa.FixedSizeListArray.from_arrays(flat, 4)}))[0]
    assert result.type == pa.list_(pa.float32(), 4) and result.flatten().to_pylist() == array.tolist()


def test_permuted_tensors():
    array = np.arange(12, dtype=np.int64).reshape(2, 3, 2).transpose(0, 2, 1)
    column = pa.FixedShapeTensorArray.from_numpy_ndarray(array)
    assert column.type.permutation
    rows = read(column)
    assert (rows.take(slice(0, 2)) == array).all() and (read(column[1:]).take(slice(0, 1)) == array[1:]).all()


def test_rows_of_different_shapes_are_run_by_shape():
    values = [[1, 2], [3], [4, 5], [], [6], [7, 8, 9]]
    graph = "g (float[N,M] x) => (float[N] s, float[N,M] y) { axes = Constant <value_ints = [1]> () s = ReduceSum <keepdims = 0> (x, axes) y = Neg(x) }"
    run = predictor(graph)
    table = run(pa.table({"x": pa.array(values, pa.list_(pa.float32()))}))
    assert table.column("s").to_pylist() == [sum(value) for value in values]
    assert table.column("y").to_pylist() == [[-x for x in value] for value in values]
    # Images as Ray and Arrow store tensors of different shapes.
    kind = pa.struct([("data", pa.list_(pa.float32())), ("shape", pa.list_(pa.int32(), 2))])
    rows = [{"data": [1, 2, 3, 4], "shape": [2, 2]}, {"data": [5, 6], "shape": [1, 2]}, None, {"data": [1], "shape": [2, 2]}]
    run = predictor("g (float[N,H,W] x) => (float[N,H,W] y) { y = Neg(x) }", errors="column")
    table = run(pa.table({"x": pa.array(rows, kind)}))
    assert table.column("y").to_pylist() == [[[-1, -2], [-3, -4]], [[-5, -6]], None, None]
    assert table.column("error").to_pylist() == [
        None, None, "column `x` is null", "column `x` has 1 elements, but the shape [2, 2]",
    ]  # fmt: skip


def test_columns_side_by_side():
    graph = "g (float[N,4] x) => (float[N] y) { axes = Constant <value_ints = [1]> () y = ReduceSum <keepdims = 0> (x, axes) }"
    run = predictor(graph, columns={"x": ["a", "b", "c"]})
    table = pa.table({
        "a": pa.array([1, 2], pa.int8()), "b": pa.array([[10, 20], [30, 40]], pa.list_(pa.float32())), "c": pa.array([0.5, 0.25], pa.float32()),
    })  # fmt: skip
    assert run(table).column("y").to_pylist() == [31.5, 72.25]
    assert run(table[:0]).column("y").to_pylist() == []
    run = predictor(graph, columns={"x": ["a", "b", "c"]}, errors="column", keep=False)
    table = pa.table({
        "a": pa.array([1, None], pa.int8()), "b": pa.array([[10, 20], [30, 40]], pa.list_(pa.float32())), "c": pa.array([0.5, 0.25], pa.float32()),
    })  # fmt: skip
    assert run(table).to_pylist() == [{"y": 31.5, "error": None}, {"y": None, "error": "column `a` is null"}]


#: A column, the sizes of the input after the first, the type of the input, options, why the row is bad.
BAD = [
    (pa.array([1, None], pa.float32()), "", "float", {}, "is null"),
    (pa.array([[1], None], pa.list_(pa.float32())), ",M", "float", {}, "is null"),
    (pa.array([[1], [None]], pa.list_(pa.float32())), ",M", "float", {}, "has a null element"),
    (pa.array([[[1]], [None]], pa.list_(pa.list_(pa.float32()))), ",M,K", "float", {}, "has a null element"),
    (pa.array([[1, 2], [None, None]], pa.list_(pa.float32(), 2)), ",2", "float", {}, "has a null element"),
    (pa.array([[[1, 2]], [[1], [2, 3]]], pa.list_(pa.list_(pa.float32()))), ",M,K", "float", {}, "has lists of 1 and of 2 elements"),
    (pa.array([[1, 2], [3]], pa.list_(pa.float32())), ",2", "float", {}, "has the shape [1], expected 2 for axis 0"),
    (pa.array([[1, 2, 3, 4], [3]], pa.list_(pa.float32())), ",2,2", "float", {}, "has 1 elements, expected 4 for the shape [2, 2]"),
    (pa.array([1, 1 << 40]), "", "int32", {}, "has the element 1099511627776, which int32 does not have"),
    (pa.array([1, (1 << 24) + 1]), "", "float", {}, "has the element 16777217, which float32 does not have"),
    (pa.array([1, -1]), "", "uint8", {}, "has the element -1, which uint8 does not have"),
    (pa.array([b"ok", b"\xff"]), "", "string", {}, "not UTF-8"),
]


@pytest.mark.parametrize(("column", "sizes", "kind", "options", "why"), BAD, ids=[row[-1] for row in BAD])
def test_bad_rows_are_raised_or_put_aside(column, sizes, kind, options, why):
    table = pa.table({"x": column, "id": [40, 41]})
    with pytest.raises(RowError) as raised:
        predictor(same(kind, sizes), key="id", **options)(table, first_row=100)
    assert why in str(raised.value) and str(raised.value).startswith("row 101 (id 41): "), raised.value
    assert raised.value.row == 101
    copied = pickle.loads(pickle.dumps(raised.value))
    assert (str(copied), copied.row, copied.column) == (str(raised.value), raised.value.row, raised.value.column)
    aside = predictor(same(kind, sizes), errors="column", **options)(table)
    first, second = aside.to_pylist()
    assert first["error"] is None and first["y"] is not None
    assert why in second["error"] and second["y"] is None


def test_nulls_are_filled_and_numbers_rounded():
    assert one(pa.array([1, None], pa.float32()), fill={"x": -5}) == [1, -5]
    assert one(pa.array(["a", None]), "string", fill={"x": "?"}) == ["a", "?"]
    assert one(pa.array([[1, None], [2, 3]], pa.list_(pa.float32())), "float", ",2", fill={"x": 0}) == [[1, 0], [2, 3]]
    assert one(pa.array([0.1]), cast=True) == [np.float32(0.1)]
    assert one(pa.array([1.5]), "int32", cast=True) == [1]
    with pytest.raises(TypeError, match="column `x` has elements of float64, but the input has float32: pass cast=True"):
        one(pa.array([0.5]))
    with pytest.raises(TypeError, match="elements of strings, but the input has float32"):
        one(pa.array(["0.5"]))
    with pytest.raises(TypeError, match="has the type date32"):
        one(pa.array([1], pa.int32()).cast(pa.date32()))
    with pytest.raises(TypeError, match="column `x` has rows of rank 0, but rows of the input have rank 1.*float.N,M."):
        one(pa.array([1.0], pa.float32()), "float", ",M")


LOOKUP = "g (int64[N] x) => (float[N] y) <float[4] table = {10, 11, 12, 13}> { y = Gather(table, x) }"


def test_the_row_that_a_model_fails_for_is_found():
    table = pa.table({"x": [0, 1, 2, 7, 3, -9, 1], "name": list("abcdefg")})
    for most in (1, 2, 3, 100):
        with pytest.raises(RowError, match=r"^row 3 \(name 'd'\): .*7") as raised:
            predictor(LOOKUP, max_rows=most, key="name")(table)
        assert isinstance(raised.value.__cause__, onnxtxt.Error)
        result = predictor(LOOKUP, max_rows=most, errors="column")(table)
        assert result.column("y").to_pylist() == [10, 11, 12, None, 13, None, 11]
        assert [why is None for why in result.column("error").to_pylist()] == [True, True, True, False, True, False, True]
    all_bad = predictor(LOOKUP, errors="column", keep=["name"])(pa.table({"x": [9, 9], "name": ["a", "b"]}))
    assert all_bad.column_names == ["name", "y", "error"] and all_bad.column("y").to_pylist() == [None, None]


def test_runs_have_a_size_in_bytes():
    sizes = []
    model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N,4] x) => (float[N,4] y) { y = my.See(x) }')
    model.operators["my.See"] = lambda x: sizes.append(len(x)) or x
    table = pa.table({"x": pa.array([[1, 2, 3, 4]] * 10, pa.list_(pa.float32(), 4))})
    for options, expected in (({"max_bytes": 48}, [3, 3, 3, 1]), ({"max_bytes": 1}, [1] * 10), ({"max_rows": 4}, [4, 4, 2]), ({}, [10])):
        sizes.clear()
        assert Predictor(onnxtxt.Session(model), **options)(table).num_rows == 10
        assert sizes == expected, options


@pytest.mark.parametrize("size", [1, 4])
def test_models_of_a_fixed_number_of_rows(size):
    run = predictor(f"g (float[{size},2] x) => (float[{size}] y) {{ axes = Constant <value_ints = [1]> () y = ReduceSum <keepdims = 0> (x, axes) }}")
    values = [[i, i] for i in range(10)]
    assert run(pa.table({"x": pa.array(values, pa.list_(pa.float32()))})).column("y").to_pylist() == [2 * i for i in range(10)]


def test_results_of_each_kind():
    table = pa.table({"x": pa.array([[1, 2], [3, 4]], pa.list_(pa.float32()))})
    graph = """g (float[N,2] x) => (float[N,1,2] a, float16[N] b, bool[N,2] c, string[N] d, uint8[N] e, float[N,K] f) <int64[3] s = {-1, 1, 2}> {
        a = Reshape(x, s)  axes = Constant <value_ints = [1]> ()  t = ReduceMax <keepdims = 0> (x, axes)  b = Cast <to = 10> (t)
        two = Constant <value_float = 2.0> ()  c = Less(x, two)  d = Cast <to = 8> (t)  e = Cast <to = 2> (t)  f = Identity(x)
    }"""
    run = predictor(graph)
    result = run(table)
    kinds = {field.name: field.type for field in run.results}
    assert kinds == {
        "a": pa.fixed_shape_tensor(pa.float32(), [1, 2]), "b": pa.float16(), "c": pa.list_(pa.bool_(), 2), "d": pa.string(), "e": pa.uint8(),
        "f": pa.list_(pa.float32()),
    }  # fmt: skip
    assert result.column("a").combine_chunks().to_numpy_ndarray().tolist() == [[[1, 2]], [[3, 4]]]
    assert result.column("c").to_pylist() == [[True, False], [False, False]]
    assert result.column("d").to_pylist() == ["2.0", "4.0"] and result.column("f").to_pylist() == [[1, 2], [3, 4]]
    java = predictor(graph, is_java=True)
    kinds = {field.name: field.type for field in java.results}
    assert kinds["a"] == pa.list_(pa.list_(pa.float32())) and (kinds["b"], kinds["e"]) == (pa.float32(), pa.int16())
    rows = java(table).to_pylist()
    assert [(row["a"], row["b"], row["e"]) for row in rows] == [([[1, 2]], 2, 2), ([[3, 4]], 4, 4)]
    assert java(table[:0]).schema == java(table).schema


def test_sequences_and_maps():
    graph = '<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]> g (float[N,2] x) => (seq(map(int64, float)) y) '
    graph += "{ y = ai.onnx.ml.ZipMap <classlabels_int64s = [3, 5]> (x) }"
    run = Predictor(onnxtxt.Session(onnxtxt.parse(graph)))
    table = pa.table({"x": pa.array([[0.25, 0.75], [1, 0]], pa.list_(pa.float32()))})
    assert run.results.field("y").type == pa.map_(pa.int64(), pa.float32())
    assert run(table).column("y").to_pylist() == [[(3, 0.25), (5, 0.75)], [(3, 1), (5, 0)]]


WRONG = [
    ({"columns": {"z": "a"}}, ValueError, "the model has no input `z`; it has x"),
    ({"constants": {"xs": 1}}, ValueError, "no input `xs`: did you mean `x`?"),
    ({"outputs": ["z"]}, ValueError, "no output `z`; it has y"),
    ({"errors": "ignore"}, ValueError, "errors is 'ignore', expected 'raise' or 'column'"),
    ({"max_bytes": 0}, ValueError, "max_bytes is 0"),
    ({"columns": {"x": []}}, ValueError, "input `x` has an empty list of columns"),
    ({"columns": {"x": "as"}}, ValueError, "input `x` has no column `as`: did you mean `a`?; map it with columns={'x': …}"),
    ({"columns": {"x": "a"}, "keep": ["b"]}, ValueError, "keep has `b`, which is not a column"),
    ({"columns": {"x": "a"}, "key": "b"}, ValueError, "key is `b`, which is not a column"),
    ({"columns": {"x": "a"}, "outputs": {"y": "a"}}, ValueError, "a column `a` is there already"),
    ({"constants": {"x": np.ones(3, np.float32)}}, ValueError, "no input of the model has a column"),
]


@pytest.mark.parametrize(("options", "kind", "message"), WRONG, ids=[row[-1] for row in WRONG])
def test_wrong_names_and_options(options, kind, message):
    with pytest.raises(kind) as raised:
        predictor(same(), **options)(pa.table({"a": pa.array([1.0], pa.float32())}))
    assert message in str(raised.value)


def test_models_that_do_not_fit():
    with pytest.raises(TypeError, match="input `x` is a scalar and has no axis for rows: pass it in constants="):
        predictor("g (float x) => (float y) { y = Neg(x) }")
    with pytest.raises(TypeError, match="output `y` is a scalar"):
        predictor("g (float[N] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }")
    with pytest.raises(TypeError, match="output `y` has .* no shape in the model: pass its column as types="):
        predictor("g (float[N] x, int64[M] s) => (float y) { y = Neg(x) }".replace("float y", "float[] y"))
    with pytest.raises(TypeError, match="output `y` has 2 rows for 3 rows of inputs"):
        predictor("g (float[N] x) => (float[M] y) <int64[2] i = {0, 1}> { y = Gather(x, i) }")(pa.table({"x": pa.array([1, 2, 3], pa.float32())}))
    scaled = predictor("g (float[N] x, float by) => (float[N] y) { y = Mul(x, by) }", constants={"by": np.float32(3)})
    assert scaled(pa.table({"x": pa.array([1, 2], pa.float32())})).column("y").to_pylist() == [3, 6]


def test_record_batches_and_empty_parts():
    run = predictor(same(), errors="column")
    batch = pa.record_batch({"x": pa.array([1, None], pa.float32())})
    assert isinstance(run(batch), pa.RecordBatch) and run(batch).num_rows == 2
    assert run(batch[:0]).schema == run(batch).schema == run.schema(batch.schema)
    assert run(pa.table({})).num_rows == 0


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/cluster.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```python\n(import onnxtxt, onnxtxt.arrow.*?)^```$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    onnxtxt.parse(HEAD + same("float", ",2").replace(" x)", " X)").replace("(x)", "(X)")).save("forest.onnx")
    columns = {"length": pa.array([1, None], pa.float32()), "width": pa.array([2, 3], pa.float32())}
    pq.write_table(pa.table(columns), "flowers.parquet")
    exec(block, {})
    rows = pq.read_table("predicted.parquet").to_pylist()
    assert [row["y"] for row in rows] == [[1, 2], None] and rows[1]["error"] == "column `length` is null"


# Models on their way to workers.


def parcel(tmp_path, monkeypatch, **options):
    monkeypatch.setattr(shipping.tempfile, "gettempdir", lambda: str(tmp_path))
    return shipping.pack(onnxtxt.parse(HEAD + same()), None, options)


def test_a_model_is_a_file_on_each_machine(tmp_path, monkeypatch):
    sent, content, _ = parcel(tmp_path, monkeypatch)
    sent = pickle.loads(pickle.dumps(sent))
    calls = []
    path = shipping.on_this_machine(sent, lambda: calls.append(1) or content)
    assert path.read_bytes() == content and shipping.on_this_machine(sent, lambda: calls.append(1) or content) == path and calls == [1]
    for damage in (b"", content[:-1], content[:-1] + b"?", b"something else"):
        path.write_bytes(damage)
        assert shipping.on_this_machine(sent, lambda: content).read_bytes() == content
    path.unlink()
    run = sent.predict_with(lambda: shipping.on_this_machine(sent, lambda: content), 1)
    assert run(pa.table({"x": pa.array([5], pa.float32())})).column("y").to_pylist() == [5]
    assert sent.predict_with(lambda: pytest.fail("opened again"), 1).session is run.session
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users and modes are those of Unix")
def test_a_folder_of_others_is_refused(tmp_path, monkeypatch):
    sent, content, _ = parcel(tmp_path, monkeypatch)
    folder = tmp_path / f"onnxtxt-models-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(onnxtxt.Error, match="others may write to it"):
        shipping.on_this_machine(sent, lambda: content)
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(onnxtxt.Error, match="remove it"):
        shipping.on_this_machine(sent, lambda: content)


def write(place):
    sent, content = place
    return shipping.on_this_machine(sent, lambda: content).read_bytes() == content


def test_processes_write_it_at_once(tmp_path, monkeypatch):
    sent, content, _ = parcel(tmp_path, monkeypatch)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    # Started, not forked: this process has threads. And not `Pool`, whose end may wait for workers that wait for it.
    with ProcessPoolExecutor(4, multiprocessing.get_context("spawn")) as pool:
        assert all(pool.map(write, [(sent, content)] * 16))


def test_versions_are_compared(tmp_path, monkeypatch):
    sent, content, _ = parcel(tmp_path, monkeypatch)
    sent.version = "0.0.1"
    with pytest.raises(onnxtxt.Error, match="the driver has onnxtxt 0.0.1, but this worker has"):
        sent.predict_with(lambda: shipping.on_this_machine(sent, lambda: content), 1)


def test_what_workers_would_refuse_is_refused_first():
    with pytest.raises(onnxtxt.Error, match="nowhere"):
        shipping.pack(onnxtxt.parse(HEAD + same().replace("(x) }", "(nowhere) }")), None, {})
    with pytest.raises(ValueError, match="no output `z`"):
        shipping.pack(onnxtxt.parse(HEAD + same()), None, {"outputs": ["z"]})
    with pytest.raises(TypeError, match="threads are those of the engine"):
        shipping.pack(onnxtxt.parse(HEAD + same()), {"threads": 4}, {})


def test_processes_keep_a_few_sessions(tmp_path, monkeypatch):
    for i in range(10):
        model = onnxtxt.parse(HEAD + same().replace("g (", f"g{i} ("))
        sent, content, _ = shipping.pack(model, None, {})
        sent.predict_with(lambda: shipping.on_this_machine(sent, lambda: content), 1)  # noqa: B023: called at once
    assert len(shipping._sessions) <= 4
