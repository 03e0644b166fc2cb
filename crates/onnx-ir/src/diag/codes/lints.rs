//! Codes of lints: what is legal and still not what one would write (W12..), on the level `strict`.

super::codes! { LINTS, Strict:
    /// A node returns its input unchanged.
    ///
    /// An Identity without a purpose, a Transpose that moves no axis, a Reshape to the same shape, an Add of 0, a
    /// Dropout outside of training: it costs runtimes time or a pass, and readers wonder what it is for. Use its input
    /// instead. Not reported: an Identity that a graph returns, which only names the output.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) { t = Identity(x) y = Relu(t) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) { y = Relu(x) }
    /// ```
    Warning NO_OP = "W1201", "no-op";

    /// A value is cast twice, and the first cast is exact.
    ///
    /// Every value of the first type is a value of the second, so a direct cast to the last type has the same result. Source: the
    /// tables of Cast in Operators.md.
    ///
    /// ```text
    /// g (float16[N] x) => (int32[N] y) { t = Cast <to = 1> (x) y = Cast <to = 6> (t) }
    /// ```
    /// ```text
    /// g (float16[N] x) => (int32[N] y) { y = Cast <to = 6> (x) }
    /// ```
    Warning CAST_CHAIN = "W1202", "cast-chain";

    /// A constant is stored in double precision, but cast to lower precision wherever it is used.
    ///
    /// It needs twice the space, and a cast in each run unless the runtime folds it. Python numbers become such constants
    /// in some exporters. Store it in the type in which it is used.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) <double[1] w = {0.5}> { c = Cast <to = 1> (w) y = Mul(x, c) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) <float[1] w = {0.5}> { y = Mul(x, w) }
    /// ```
    Warning DOUBLE_CONSTANT = "W1203", "double-constant";

    /// The target shape of a Reshape is fixed, but the input has a symbolic dimension.
    ///
    /// The declared symbol promises that any size works, but only one does: usually the batch size of the example that the
    /// exporter was given. Write -1 for the dimension that may vary, or 0 to copy it from the input.
    ///
    /// ```text
    /// g (float[N,2,3] x) => (float[A,B] y) <int64[2] s = {1, 6}> { y = Reshape(x, s) }
    /// ```
    /// ```text
    /// g (float[N,2,3] x) => (float[A,B] y) <int64[2] s = {-1, 6}> { y = Reshape(x, s) }
    /// ```
    Warning RESHAPE_BATCH = "W1204", "reshape-batch";

    /// A small tensor, such as a shape, is stored as external data.
    ///
    /// Shape inference needs shapes, axes and indices, often in tools that do not read external data. Source:
    /// `onnx.external_data_helper`, which leaves tensors below 1024 bytes in the model.
    Warning EXTERNAL_SHAPE = "W1205", "external-shape";

    /// A Dropout or BatchNormalization is in training mode, in a model without a training step.
    ///
    /// It would drop values at random, or normalize by the statistics of the batch. Most likely, the model was exported while
    /// in training mode. Source: Operators.md, Dropout and BatchNormalization, `training_mode`.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) <float r = {0.5}, bool t = {1}> { y = Dropout(x, r, t) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) <float r = {0.5}, bool t = {0}> { y = Dropout(x, r, t) }
    /// ```
    Warning TRAINING_MODE = "W1206", "training-mode";

    /// Two initializers of a graph have the same elements.
    ///
    /// Some exporters store shared weights once for each layer. Tensors below 1024 bytes are not reported.
    Warning INITIALIZERS_EQUAL = "W1207", "initializers-equal";

    /// Integers are divided by 0, or the divisor of a remainder is negative.
    ///
    /// Division by 0 is undefined; runtimes stop or return arbitrary results. Results of `Mod` have the sign of the divisor,
    /// as in Python, and with `fmod = 1` that of the dividend, as in C. Source: Operators.md, Div and Mod.
    ///
    /// ```text
    /// g (int64[N] x) => (int64[N] y) <int64 d = {0}> { y = Div(x, d) }
    /// ```
    /// ```text
    /// g (int64[N] x) => (int64[N] y) <int64 d = {2}> { y = Div(x, d) }
    /// ```
    Warning INTEGER_DIVISION = "W1208", "integer-division";

    /// The condition of an If is constant, or a Loop runs at most once.
    ///
    /// One branch is never taken, so the other could replace the node: often a check of ranks
    /// that the exporter could have evaluated.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) <bool c = {1}> { y = If(c)
    ///   <then_branch = a () => (p) { p = Relu(x) }, else_branch = b () => (q) { q = Abs(x) }> }
    /// ```
    /// ```text
    /// g (bool c, float[N] x) => (float[N] y) { y = If(c)
    ///   <then_branch = a () => (p) { p = Relu(x) }, else_branch = b () => (q) { q = Abs(x) }> }
    /// ```
    Warning CONSTANT_CONDITION = "W1209", "constant-condition";

    /// A Softmax, LogSoftmax or Hardmax before version 13 is over several axes together.
    ///
    /// Until then, the input was flattened to two axes at `axis`, so that results add up to 1 over all axes from there on.
    /// Frameworks use a single axis; a converter that only raises the version changes the results. Source: Changelog.md,
    /// Softmax-13.
    ///
    /// ```text
    /// <ir_version: 7, opset_import: ["": 11]>
    /// g (float[N,3,4] x) => (float[N,3,4] y) { y = Softmax <axis = 1> (x) }
    /// ```
    /// ```text
    /// <ir_version: 7, opset_import: ["": 11]>
    /// g (float[N,3,4] x) => (float[N,3,4] y) { y = Softmax <axis = 2> (x) }
    /// ```
    Warning SOFTMAX_COERCION = "W1210", "softmax-coercion";

    /// A Resize has a mode that was removed in a later version.
    ///
    /// Source: Changelog.md, Resize-13.
    ///
    /// ```text
    /// <ir_version: 7, opset_import: ["": 11]>
    /// g (float[1,1,2,2] x, float[8] r) => (float[A,B,C,D] y) <float[4] s = {1.0, 1.0, 2.0, 2.0}>
    /// { y = Resize <coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, r, s) }
    /// ```
    /// ```text
    /// <ir_version: 7, opset_import: ["": 11]>
    /// g (float[1,1,2,2] x, float[8] r) => (float[A,B,C,D] y) <float[4] s = {1.0, 1.0, 2.0, 2.0}>
    /// { y = Resize <coordinate_transformation_mode = "half_pixel"> (x, r, s) }
    /// ```
    Warning RESIZE_MODE = "W1211", "resize-mode";

    /// The lower bound of a Clip is above its upper one.
    ///
    /// Every element becomes the upper bound. Source: Operators.md, Clip.
    ///
    /// ```text
    /// g (float[N] x) => (float[N] y) <float a = {6.0}, float b = {0.0}> { y = Clip(x, a, b) }
    /// ```
    /// ```text
    /// g (float[N] x) => (float[N] y) <float a = {0.0}, float b = {6.0}> { y = Clip(x, a, b) }
    /// ```
    Warning CLIP_BOUNDS = "W1212", "clip-bounds";

    /// A Pad removes elements.
    ///
    /// Negative pads are legal and crop; few readers expect it, and some runtimes do not support it. Source: Operators.md, Pad.
    ///
    /// ```text
    /// g (float[4] x) => (float[3] y) <int64[2] p = {0, -1}> { y = Pad(x, p) }
    /// ```
    /// ```text
    /// g (float[4] x) => (float[5] y) <int64[2] p = {0, 1}> { y = Pad(x, p) }
    /// ```
    Warning PAD_NEGATIVE = "W1213", "pad-negative";

    /// The weights in the model approach the size limit of protobuf.
    ///
    /// Above 2 GiB no tool can read the file. External weights do not count. Source: the limits of protobuf.
    Warning NEAR_SIZE_LIMIT = "W1214", "near-size-limit";

    /// Two symbols of dimensions differ only in case.
    ///
    /// `N` and `n` are two unrelated dimensions; most likely they should be the same.
    ///
    /// ```text
    /// g (float[N] x, float[n] z) => (float[N] y) { t = Relu(z) y = Add(x, t) }
    /// ```
    /// ```text
    /// g (float[N] x, float[N] z) => (float[N] y) { t = Relu(z) y = Add(x, t) }
    /// ```
    Warning SYMBOL_CASE = "W1215", "symbol-case";

    /// A dimension is declared by a formula that differs from the inferred one.
    ///
    /// Outputs and entries of `value_info` may declare a dimension as a formula of others (`grammar/dimensions.md`), and inference
    /// computes it. The two agree at most for some values of the symbols. A single symbol is only a name, and never reported.
    ///
    /// ```text
    /// g (float[H] x) => (float["H*4"] y) { y = Concat <axis = 0> (x, x, x) }
    /// ```
    /// ```text
    /// g (float[H] x) => (float["H*3"] y) { y = Concat <axis = 0> (x, x, x) }
    /// ```
    Warning FORMULA_DIFFERS = "W1216", "formula-differs";
}
