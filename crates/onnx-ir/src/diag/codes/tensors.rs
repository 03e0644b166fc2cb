//! Codes of stored tensors, dense and sparse (E05..).

super::codes! { TENSORS, Spec:
    /// A tensor has no element type, or one that does not exist.
    ///
    /// Without it, the stored bytes have no meaning. Set `data_type` to a type of the enumeration other than
    /// UNDEFINED. Source: onnx.proto, TensorProto.data_type.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) <elem_type(99)[1] w = {raw_data: b"\x00\x00\x00\x00"}> { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) <float[1] w = {raw_data: b"\x00\x00\x00\x00"}> { y = Relu(x) }
    /// ```
    Error DATA_TYPE = "E0501", "data-type", "T01";

    /// A tensor has a negative dimension, or more elements than 64 bits can count.
    ///
    /// A stored tensor must have a known size. Correct its shape. Source: IR.md, Tensor Definition.
    ///
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[-1] w = {1}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = {1}> { y = Add(x, w) }
    /// ```
    Error DIMS = "E0502", "dims", "T02";

    /// A tensor has no values, or values in two fields.
    ///
    /// A tensor with elements stores them in exactly one field, and a tensor of zero elements in none;
    /// otherwise, readers disagree on its content. Source: onnx.proto, TensorProto.
    ///
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = {float_data: [1], int32_data: [1]}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = {1}> { y = Add(x, w) }
    /// ```
    Error ONE_VALUE_FIELD = "E0503", "one-value-field", "T03";

    /// A tensor stores its values in a field for another type.
    ///
    /// Each element type has one typed field, and `raw_data` is for all but strings: readers use only these.
    /// Move the values. Source: onnx.proto, TensorProto.
    ///
    /// ```text
    /// g (uint32[1] x) => (uint32[1] y) <uint32[1] w = {int32_data: [1]}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (uint32[1] x) => (uint32[1] y) <uint32[1] w = {uint64_data: [1]}> { y = Add(x, w) }
    /// ```
    Error VALUE_FIELD_FOR_TYPE = "E0504", "value-field-for-type", "T04";

    /// A tensor has fewer values than its shape needs.
    ///
    /// Readers would read beyond the end of the data. Correct the shape, or add the missing values. Complex
    /// elements need two entries each. Source: onnx.proto, TensorProto.
    ///
    /// ```text
    /// g (float[3] x) => (float[3] y) <float[3] w = {float_data: [1, 2]}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Add(x, w) }
    /// ```
    Error PAYLOAD_SHORT = "E0505", "payload-short", "T05";

    /// A tensor has more values than its shape needs.
    ///
    /// Some readers ignore the rest and others reject the tensor; either the shape or the data is wrong.
    /// Source: IR.md, Tensor Definition.
    ///
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = {float_data: [1, 2]}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }
    /// ```
    Error PAYLOAD_LONG = "E0506", "payload-long", "T06";

    /// A tensor of 4-bit or 2-bit elements has the wrong number of entries.
    ///
    /// In `int32_data`, one entry holds two elements of 4 bits, or four of 2 bits. One entry per element
    /// would be read as other values. Pack the elements. Source: onnx.proto, TensorProto.int32_data.
    ///
    /// ```text
    /// g (float[3] x) => (float[3] y) <int4[3] w = {int32_data: [1, 2, 3]}> { t = Cast<to = 1>(w) y = Add(x, t) }
    /// ```
    /// ```text
    /// g (float[3] x) => (float[3] y) <int4[3] w = {int32_data: [33, 3]}> { t = Cast<to = 1>(w) y = Add(x, t) }
    /// ```
    Error SUBBYTE_INT32_DATA = "E0507", "subbyte-int32-data", "T07";

    /// A tensor of a float6 type is packed wrongly.
    ///
    /// `raw_data` is a stream of 6 bits an element with zeros after the last; an entry of `int32_data` is one
    /// element, 0 to 63. Source: onnx.proto, TensorProto.
    ///
    /// ```text
    /// <ir_version: 14, opset_import: ["": 28]>
    /// g (float[N] x) => (float[N] y) <float6e2m3[1] w = {int32_data: [64]}> { y = Relu(x) }
    /// ```
    /// ```text
    /// <ir_version: 14, opset_import: ["": 28]>
    /// g (float[N] x) => (float[N] y) <float6e2m3[1] w = {int32_data: [63]}> { y = Relu(x) }
    /// ```
    Error FLOAT6_PACKING = "E0508", "float6-packing", "T08";

    /// A stored entry is out of range for the element type.
    ///
    /// Narrow types are stored in wider entries; values out of range are truncated by some readers and rejected by
    /// others. Booleans are 0 or 1. The first such entry of a tensor is reported. Source: onnx.proto,
    /// TensorProto.int32_data.
    ///
    /// ```text
    /// g (int8[1] x) => (int8[1] y) <int8[1] w = {int32_data: [300]}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (int8[1] x) => (int8[1] y) <int8[1] w = {127}> { y = Add(x, w) }
    /// ```
    Error VALUE_RANGE = "E0509", "value-range", "T09";

    /// An element of a string tensor is not plain UTF-8.
    ///
    /// Elements must be UTF-8 without byte-order mark or trailing NUL: comparisons would see the difference, but
    /// people would not. Source: onnx.proto, TensorProto.string_data.
    ///
    /// ```text
    /// g () => (string[1] y) <string[1] w = {b"\xff"}> { y = Identity(w) }
    /// ```
    /// ```text
    /// g () => (string[1] y) <string[1] w = {"µ"}> { y = Identity(w) }
    /// ```
    Error STRING_DATA_NOT_UTF8 = "E0510", "string-data-not-utf8", "T10";

    /// A tensor is one chunk of a larger one.
    ///
    /// The format has `segment` for it, but no reader joins the chunks. Store the whole tensor.
    /// Source: onnx.proto, TensorProto.Segment.
    ///
    /// ```text
    /// #@ onnxtxt 1
    /// <ir_version: 10, opset_import: ["": 21]> g (float[1] x) => (float[1] y) <
    ///   #@ segment: [0, 1]
    ///   float[1] w = {1}
    /// > { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = {1}> { y = Add(x, w) }
    /// ```
    Error SEGMENT = "E0511", "segment", "T11";

    /// A sparse tensor has no list of values.
    ///
    /// `values` must be a valid tensor of rank 1. Source: onnx.proto, SparseTensorProto.
    ///
    /// ```text
    /// g (float[4] x) => (float[4] y) <sparse[4] w = {values = float[1,1] {1}, indices = int64[1] {0}}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[4] x) => (float[4] y) <sparse[4] w = {values = float[1] {1}, indices = int64[1] {0}}> { y = Add(x, w) }
    /// ```
    Error SPARSE_VALUES = "E0521", "sparse-values", "P01";

    /// The dense shape of a sparse tensor is invalid.
    ///
    /// It must have at least one dimension, all positive, and the number of elements must fit in 64 bits. Source:
    /// onnx.proto, SparseTensorProto.
    ///
    /// ```text
    /// g (float[4] x) => (float[4] y) <sparse[0] w = {values = float[1] {1}, indices = int64[1] {0}}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[4] x) => (float[4] y) <sparse[4] w = {values = float[1] {1}, indices = int64[1] {0}}> { y = Add(x, w) }
    /// ```
    Error SPARSE_DIMS = "E0522", "sparse-dims", "P02";

    /// The indices of a sparse tensor have the wrong form.
    ///
    /// They are an int64 tensor of shape `[NNZ]` (positions in the flattened tensor) or `[NNZ, rank]`, for
    /// NNZ values. Source: onnx.proto, SparseTensorProto.
    ///
    /// ```text
    /// g (float[4] x) => (float[4] y) <sparse[4] w = {values = float[1] {1}, indices = int32[1] {0}}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[4] x) => (float[4] y) <sparse[4] w = {values = float[1] {1}, indices = int64[1] {0}}> { y = Add(x, w) }
    /// ```
    Error SPARSE_INDICES_FORM = "E0523", "sparse-indices-form", "P03";

    /// An index of a sparse tensor is out of range, or not greater than the one before.
    ///
    /// Indices must ascend strictly, tuples in lexicographic order, so that none repeats and readers can merge
    /// them. Sort them. Source: onnx.proto, SparseTensorProto.
    ///
    /// ```text
    /// g (float[4] x) => (float[4] y) <sparse[4] w = {values = float[2] {1, 2}, indices = int64[2] {3, 0}}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[4] x) => (float[4] y) <sparse[4] w = {values = float[2] {1, 2}, indices = int64[2] {0, 3}}> { y = Add(x, w) }
    /// ```
    Error SPARSE_INDICES = "E0524", "sparse-indices", "P04";

    /// The bits after the last element of a tensor are not zero.
    ///
    /// Elements of 4 or 2 bits share bytes, and the last byte may have room for more than there are. Readers ignore
    /// these bits, but comparisons of the bytes see them. Source: onnx.proto, TensorProto.int32_data.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) <int4[1] w = {raw_data: b"\x21"}> { y = Relu(x) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) <int4[1] w = {raw_data: b"\x01"}> { y = Relu(x) }
    /// ```
    Warning PADDING_BITS = "W0525", "padding-bits";

    /// The data of a tensor is in a place that the format does not have.
    ///
    /// `data_location` is 0 (DEFAULT: in the fields of the tensor) or 1 (EXTERNAL: in another file). Of any other number no
    /// reader knows where the values are. Source: onnx.proto, TensorProto.DataLocation.
    ///
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = {raw_data: b"\x00\x00\x80\x3f", data_location: 7}> { y = Add(x, w) }
    /// ```
    /// ```text
    /// g (float[1] x) => (float[1] y) <float[1] w = {raw_data: b"\x00\x00\x80\x3f", data_location: 0}> { y = Add(x, w) }
    /// ```
    Error DATA_LOCATION = "E0526", "data-location", "T12";
}
