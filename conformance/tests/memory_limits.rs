//! The memory of a run holds for every operator: what each takes for results of growing sizes, beside what it may take.
//!
//! Every operator that has larger results than inputs, or makes lists of its own, has a row. In each, `$N` is a number of
//! elements that grows until the run ends for lack of memory, `$H` is half of it and `$R` its square root.

use conformance::convert::read_text;
use onnx_exec::{CompileOptions, Memory, RunOptions, compile};
use onnx_ir::diag::{Diagnostic, code};
use onnx_ops::opset::registry_of;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// What a run may take.
const MOST: usize = 16 << 20;

/// What the process may take for it: plans, and what allocators and threads keep for themselves, are not charged.
const TAKEN: usize = MOST / 2 * 3 + (2 << 20);

/// Elements, until one is refused.
const SIZES: [usize; 9] = [1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 19, 1 << 20, 3 << 19, 1 << 21, 1 << 24];

/// Runs a model as a program does that prints its results.
fn run(text: &str) -> Result<(), Vec<Diagnostic>> {
    let model = read_text(text).unwrap_or_else(|how| panic!("{text}: {how}"));
    let memory = Memory::new(MOST);
    let options = RunOptions { memory: Some(memory.clone()), threads: 2, ..RunOptions::default() };
    memory.within(|| {
        let executable = compile(&model, registry_of(&model), &CompileOptions::default())?;
        let outputs = executable.run(Vec::new(), &options).map_err(|finding| vec![*finding])?;
        drop(executable);
        for output in outputs {
            // There may be no room for a copy, which is no fault.
            drop(output.to_stored());
        }
        Ok(())
    })
}

/// What is wrong with a row.
fn fault(nodes: &str) -> Option<String> {
    let mut most = (0, 0);
    for size in SIZES {
        let [whole, half, root] = [size, size / 2, size.isqrt()].map(|n| n.to_string());
        let nodes = nodes.replace("$N", &whole).replace("$H", &half).replace("$R", &root);
        let opsets = r#"["": 22, "ai.onnx.ml": 3, "com.microsoft": 1]"#;
        let text = format!("<ir_version: 10, opset_import: {opsets}> g () => (y) {{ {nodes} }}");
        ALLOCATED.reset_peak_usage();
        let before = ALLOCATED.current_usage();
        let outcome = run(&text);
        most = most.max((ALLOCATED.peak_usage().saturating_sub(before), size));
        match outcome {
            Ok(()) => {}
            Err(found) if found.iter().any(|finding| finding.code.id == code::RUN_LIMIT.id) => break,
            Err(found) => return Some(format!("{}: {nodes}", found[0].message)),
        }
    }
    let (taken, size) = most;
    (taken > TAKEN).then(|| format!("{size} elements take {} KiB: {nodes}", taken >> 10))
}

#[test]
fn no_operator_takes_more_than_half_again_what_a_run_may_take() {
    let faults: Vec<String> = NODES.iter().filter_map(|nodes| fault(nodes)).collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), NODES.len(), faults.join("\n"));
}

/// The nodes of a model without inputs whose result is `y`.
const NODES: &[&str] = &[
    "x = RandomUniform<shape=[$N]>() y = Cast<to=1>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=2>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=3>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=5>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=6>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=7>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=8>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=9>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=10>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=11>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=12>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=13>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=16>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=17>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=18>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=19>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=20>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=21>(x)",
    "x = RandomUniform<shape=[$N]>() y = Cast<to=22>(x)",
    "s_q = Constant<value_ints=[$N]>() q = ConstantOfShape<value = int64[1] {0}>(s_q) t = Cast<to=8>(q) y = Cast<to=1>(t)",
    "s_q = Constant<value_ints=[$N]>() q = ConstantOfShape<value = int64[1] {0}>(s_q) t = Cast<to=8>(q) y = Cast<to=7>(t)",
    "s_q = Constant<value_ints=[$N]>() q = ConstantOfShape<value = int64[1] {0}>(s_q) t = Cast<to=8>(q) y = Cast<to=10>(t)",
    "s_q = Constant<value_ints=[$N]>() q = ConstantOfShape<value = int64[1] {0}>(s_q) t = Cast<to=8>(q) y = Cast<to=16>(t)",
    "s_q = Constant<value_ints=[$N]>() q = ConstantOfShape<value = int64[1] {0}>(s_q) t = Cast<to=8>(q) y = Cast<to=21>(t)",
    "s_q = Constant<value_ints=[$N]>() q = ConstantOfShape<value = int64[1] {0}>(s_q) t = Cast<to=8>(q) y = Cast<to=6>(t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=10>(x) y = Cast<to=8>(t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=21>(x) y = Cast<to=8>(t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=22>(x) y = Cast<to=8>(t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=17>(x) y = Cast<to=8>(t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=16>(x) y = Cast<to=8>(t)",
    "x = RandomUniform<shape=[$N]>() y = Relu(x)",
    "x = RandomUniform<shape=[$N]>() y = Neg(x)",
    "x = RandomUniform<shape=[$N]>() y = Exp(x)",
    "x = RandomUniform<shape=[$N]>() y = Sin(x)",
    "x = RandomUniform<shape=[$N]>() y = Erf(x)",
    "x = RandomUniform<shape=[$N]>() y = Sigmoid(x)",
    "x = RandomUniform<shape=[$N]>() y = Softmax(x)",
    "x = RandomUniform<shape=[$N]>() y = LogSoftmax(x)",
    "x = RandomUniform<shape=[$N]>() y = Hardmax(x)",
    "x = RandomUniform<shape=[$N]>() y = LpNormalization(x)",
    "x = RandomUniform<shape=[$N]>() y = IsNaN(x)",
    "x = RandomUniform<shape=[$N]>() y = NonZero(x)",
    "x = RandomUniform<shape=[$N]>() y = Shape(x)",
    "x = RandomUniform<shape=[$N]>() y = Size(x)",
    "x = RandomUniform<shape=[$N]>() y = Identity(x)",
    "x = RandomUniform<shape=[$N]>() y = Dropout(x)",
    "x = RandomUniform<shape=[$N]>() y = Gelu(x)",
    "x = RandomUniform<shape=[$N]>() y = Mish(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = LpNormalization<axis=0>(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = Softmax<axis=0>(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = Hardmax<axis=0>(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = LogSoftmax<axis=0>(x)",
    "s_x = Constant<value_ints=[$R,$R]>() x = ConstantOfShape<value = int64[1] {0}>(s_x) c = Constant<value_int=1>() d = Add(x,c) y = NonZero(d)",
    "x = RandomUniform<shape=[1,1,1,1,1,1,1,$N]>() y = NonZero(x)",
    "x = RandomUniform<shape=[$N]>() c = Cast<to=9>(x) y = Compress(x,c)",
    "x = RandomUniform<shape=[$N,1]>() s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) c = Equal(i,i) y = Compress<axis=0>(x,c)",
    "x = RandomUniform<shape=[$N]>() y,i,j,k = Unique(x)",
    "x = RandomUniform<shape=[$N]>() y,i,j,k = Unique<sorted=0>(x)",
    "x = RandomUniform<shape=[$H,2]>() y,i,j,k = Unique<axis=0>(x)",
    "x = RandomUniform<shape=[2,$H]>() y,i,j,k = Unique<axis=1>(x)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y,i,j,k = Unique(t)",
    "x = RandomUniform<shape=[$N]>() k = Constant<value_ints=[$N]>() y,i = TopK(x,k)",
    "x = RandomUniform<shape=[$H,2]>() k = Constant<value_ints=[$H]>() y,i = TopK<axis=0>(x,k)",
    "x = RandomUniform<shape=[$N]>() k = Constant<value_ints=[2]>() y,i = TopK(x,k)",
    "x = RandomUniform<shape=[$N]>() c=Cast<to=7>(x) k = Constant<value_ints=[$N]>() y,i = TopK<sorted=0>(c,k)",
    "x = RandomUniform<shape=[$N,1]>() y = ArgMax<axis=1>(x)",
    "x = RandomUniform<shape=[$N]>() a = Constant<value_int=0>() y = CumSum(x,a)",
    "x = RandomUniform<shape=[$N]>() a = Constant<value_int=0>() y = CumSum<reverse=1,exclusive=1>(x,a)",
    "a = Constant<value_int=0>() b = Constant<value_int=$N>() c = Constant<value_int=1>() y = Range(a,b,c)",
    "s_i = Constant<value_ints=[$R]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) d = Constant<value_ints=[$R]>() v = Constant<value_floats=[0.0,1.0]>() y = OneHot(i,d,v)",
    "a = Constant<value_float=1.0>() b = Constant<value_ints=[1]>() r = Constant<value_ints=[$N]>() e = Reshape(a,b) y = Tile(e,r)",
    "a = Constant<value_strings=[\"abcdefghijklmnopqrstuvwxyz abcdefghijklmnopqrst\"]>() r = Constant<value_ints=[$N]>() y = Tile(a,r)",
    "a = Constant<value_strings=[\"abc\"]>() r = Constant<value_ints=[$N]>() y = Expand(a,r)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y = StringConcat(t,t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y,n = StringSplit<delimiter=\".\">(t)",
    "a = Constant<value_strings=[\"a b c d e f g h i j\"]>() r = Constant<value_ints=[$N]>() t = Expand(a,r) y,n = StringSplit(t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y = StringNormalizer<case_change_action=\"UPPER\">(t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y = StringNormalizer<stopwords=[\"a\"]>(t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y = RegexFullMatch<pattern=\"0.*\">(t)",
    "s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = ai.onnx.ml.LabelEncoder<keys_int64s=[0],values_strings=[\"a\"]>(i)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y = ai.onnx.ml.LabelEncoder<keys_strings=[\"a\"],values_int64s=[1]>(t)",
    "s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = ai.onnx.ml.CategoryMapper<cats_int64s=[0],cats_strings=[\"a\"]>(i)",
    "s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = ai.onnx.ml.OneHotEncoder<cats_int64s=[0,1,2,3,4,5,6,7,8,9]>(i)",
    "x = RandomUniform<shape=[2,2]>() s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = ai.onnx.ml.ArrayFeatureExtractor(x,i)",
    "x = RandomUniform<shape=[$R,$R]>() y = ai.onnx.ml.Binarizer<threshold=0.5>(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = ai.onnx.ml.Normalizer<norm=\"L2\">(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = ai.onnx.ml.Scaler<offset=[0.5],scale=[2.0]>(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = ai.onnx.ml.Imputer<imputed_value_floats=[0.5],replaced_value_float=0.0>(x)",
    "x = RandomUniform<shape=[$N,1]>() y = ai.onnx.ml.FeatureVectorizer<inputdimensions=[1,1]>(x,x)",
    "x = RandomUniform<shape=[$N,1]>() y,s = ai.onnx.ml.LinearClassifier<coefficients=[1.0,2.0,3.0],intercepts=[0.0,0.0,0.0],classlabels_strings=[\"a\",\"b\",\"c\"],post_transform=\"SOFTMAX\">(x)",
    "x = RandomUniform<shape=[$N,1]>() y = ai.onnx.ml.LinearRegressor<coefficients=[1.0,2.0,3.0],intercepts=[0.0,0.0,0.0],targets=3>(x)",
    "x = RandomUniform<shape=[$N,1]>() y,s = ai.onnx.ml.SVMClassifier<coefficients=[1.0,-1.0],classlabels_ints=[0,1],kernel_type=\"RBF\",kernel_params=[0.5,0.0,3.0],rho=[0.1],support_vectors=[0.1,0.2],vectors_per_class=[1,1]>(x)",
    "x = RandomUniform<shape=[$N,1]>() y = ai.onnx.ml.SVMRegressor<coefficients=[1.0,-1.0],kernel_type=\"RBF\",kernel_params=[0.5,0.0,3.0],rho=[0.1],support_vectors=[0.1,0.2],n_supports=2>(x)",
    "x = RandomUniform<shape=[$N,1]>() y,s = ai.onnx.ml.TreeEnsembleClassifier<nodes_treeids=[0,0,0],nodes_nodeids=[0,1,2],nodes_featureids=[0,0,0],nodes_modes=[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\"],nodes_values=[0.5,0.0,0.0],nodes_truenodeids=[1,0,0],nodes_falsenodeids=[2,0,0],class_treeids=[0,0],class_nodeids=[1,2],class_ids=[0,1],class_weights=[1.0,1.0],classlabels_strings=[\"aa\",\"bb\"]>(x)",
    "x = RandomUniform<shape=[$N,1]>() y = ai.onnx.ml.TreeEnsembleRegressor<nodes_treeids=[0,0,0],nodes_nodeids=[0,1,2],nodes_featureids=[0,0,0],nodes_modes=[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\"],nodes_values=[0.5,0.0,0.0],nodes_truenodeids=[1,0,0],nodes_falsenodeids=[2,0,0],target_treeids=[0,0],target_nodeids=[1,2],target_ids=[0,1],target_weights=[1.0,1.0],n_targets=2>(x)",
    "x = RandomUniform<shape=[$N,2]>() y = ai.onnx.ml.ZipMap<classlabels_int64s=[0,1]>(x)",
    "x = RandomUniform<shape=[$N,2]>() y = ai.onnx.ml.ZipMap<classlabels_strings=[\"a\",\"b\"]>(x)",
    "x = RandomUniform<shape=[$N]>() y = SplitToSequence(x)",
    "x = RandomUniform<shape=[$N]>() q = SplitToSequence(x) y = ConcatFromSequence<axis=0>(q)",
    "x = RandomUniform<shape=[$N]>() q = SplitToSequence(x) y = SequenceMap<body = b (float[1] a) => (float[1] c) { c = Neg(a) }>(q)",
    "n = Constant<value_int=$N>() y = Loop(n,) <body = b (int64 i, bool c) => (bool c, int64 j) { j = Add(i,i) }>",
    "n = Constant<value_int=$R>() y = Loop(n,) <body = b (int64 i, bool c) => (bool c, float[$R] j) { j = RandomUniform<shape=[$R]>() }>",
    "x = RandomUniform<shape=[$N]>() y = Scan<num_scan_inputs=1, body = b (float a) => (float c) { c = Neg(a) }>(x)",
    "n = Constant<value_int=$N>() y = Loop(n,) <body = b (int64 i, bool c) => (bool c, string j) { j = Cast<to=8>(i) }>",
    "n = Constant<value_int=$N>() e = SequenceEmpty() y = Loop(n,,e) <body = b (int64 i, bool c, seq(float) a) => (bool c, seq(float) d) { f = Cast<to=1>(i) d = SequenceInsert(a,f) }>",
    "x = RandomUniform<shape=[$N]>() y = Concat<axis=0>(x,x,x,x)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y = Concat<axis=0>(t,t,t,t)",
    "x = RandomUniform<shape=[4]>() p = Constant<value_ints=[0,$N]>() y = Pad(x,p)",
    "x = RandomUniform<shape=[$N]>() p = Constant<value_ints=[0,$H]>() y = Pad<mode=\"reflect\">(x,p)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) p = Constant<value_ints=[0,$H]>() y = Pad<mode=\"reflect\">(t,p)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = Gather(t,i)",
    "x = RandomUniform<shape=[$N]>() s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = Gather(x,i)",
    "x = RandomUniform<shape=[$N]>() s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = GatherElements(x,i)",
    "x = RandomUniform<shape=[$N]>() s_i = Constant<value_ints=[$N,1]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = GatherND(x,i)",
    "x = RandomUniform<shape=[$N]>() s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = ScatterElements(x,i,x)",
    "x = RandomUniform<shape=[$N]>() s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = ScatterElements<reduction=\"add\">(x,i,x)",
    "x = RandomUniform<shape=[$N]>() s_i = Constant<value_ints=[$N,1]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = ScatterND(x,i,x)",
    "x = RandomUniform<shape=[$N]>() s_i = Constant<value_ints=[$N,1]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = ScatterND<reduction=\"max\">(x,i,x)",
    "x = RandomUniform<shape=[$N]>() s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int32[1] {0}>(s_i) y = ScatterElements(x,i,x)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = ScatterElements(t,i,t)",
    "x = RandomUniform<shape=[$R,$R]>() s_i = Constant<value_ints=[$R]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) c = Constant<value_int=1>() j = Add(i,c) y = ReverseSequence(x,j)",
    "x = RandomUniform<shape=[$R,$R]>() y = Transpose<perm=[1,0]>(x)",
    "x = RandomUniform<shape=[$R,$R]>() t = Cast<to=8>(x) y = Transpose<perm=[1,0]>(t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) s = Constant<value_ints=[-1,1]>() y = Reshape(t,s)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) s = Constant<value_ints=[0]>() e = Constant<value_ints=[$H]>() y = Slice(t,s,e)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y,w = Split<num_outputs=2>(t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y = Equal(t,t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) c = Equal(t,t) y = Where(c,t,t)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y = Identity(t)",
    "x = RandomUniform<shape=[$R,$R]>() y = MatMul(x,x)",
    "x = RandomUniform<shape=[$R,$R]>() b = Transpose<perm=[1,0]>(x) y = MatMul(b,x)",
    "x = RandomUniform<shape=[$R,1]>() b = Transpose<perm=[1,0]>(x) y = MatMul(x,b)",
    "x = RandomUniform<shape=[$R,$R]>() h = Cast<to=10>(x) y = MatMul(h,h)",
    "x = RandomUniform<shape=[$R,$R]>() h = Cast<to=16>(x) y = MatMul(h,h)",
    "x = RandomUniform<shape=[$R,$R]>() h = Cast<to=11>(x) y = MatMul(h,h)",
    "x = RandomUniform<shape=[$R,$R]>() h = Cast<to=6>(x) y = MatMul(h,h)",
    "x = RandomUniform<shape=[$R,$R]>() h = Cast<to=2>(x) y = MatMulInteger(h,h)",
    "x = RandomUniform<shape=[$N,1]>() b = RandomUniform<shape=[1,16]>() y = MatMul(x,b)",
    "x = RandomUniform<shape=[$R,$R]>() y = Gemm<transA=1,transB=1>(x,x,x)",
    "x = RandomUniform<shape=[$R,$R]>() y = Einsum<equation=\"ij,kj->ik\">(x,x)",
    "x = RandomUniform<shape=[$R,$R]>() y = Einsum<equation=\"ii->i\">(x)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() w = RandomUniform<shape=[1,1,3,3]>() y = Conv<pads=[1,1,1,1]>(x,w)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() w = RandomUniform<shape=[8,1,5,5]>() y = Conv<pads=[2,2,2,2]>(x,w)",
    "x = RandomUniform<shape=[1,1,$N]>() w = RandomUniform<shape=[4,1,7]>() y = Conv<pads=[3,3]>(x,w)",
    "x = RandomUniform<shape=[1,1,4,$R,40]>() w = RandomUniform<shape=[4,1,3,3,3]>() y = Conv<pads=[1,1,1,1,1,1]>(x,w)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() w = RandomUniform<shape=[8,1,3,3]>() y = Conv<dilations=[2,2]>(x,w)",
    "x = RandomUniform<shape=[1,1,2,2]>() w = RandomUniform<shape=[1,1,1,1]>() y = Conv<pads=[$R,$R,$R,$R],strides=[97,97]>(x,w)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() w = RandomUniform<shape=[8,1,3,3]>() a = Cast<to=10>(x) b = Cast<to=10>(w) y = Conv<pads=[1,1,1,1]>(a,b)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() w = RandomUniform<shape=[8,1,3,3]>() a = Cast<to=11>(x) b = Cast<to=11>(w) y = Conv<pads=[1,1,1,1]>(a,b)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() w = RandomUniform<shape=[8,1,3,3]>() a = Cast<to=2>(x) b = Cast<to=2>(w) y = ConvInteger<pads=[1,1,1,1]>(a,b)",
    "x = RandomUniform<shape=[1,$R,$R,1]>() w = RandomUniform<shape=[$R,1,3,1]>() y = Conv<group=$R,pads=[1,0,1,0]>(x,w)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() w = RandomUniform<shape=[1,1,3,3]>() y = ConvTranspose<strides=[2,2]>(x,w)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() w = RandomUniform<shape=[1,8,3,3]>() y = ConvTranspose(x,w)",
    "x = RandomUniform<shape=[1,1,2,2]>() w = RandomUniform<shape=[1,1,3,3]>() y = ConvTranspose<strides=[$R,$R]>(x,w)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() w = RandomUniform<shape=[1,1,3,3]>() o = RandomUniform<shape=[1,18,$R,$R]>() y = DeformConv<pads=[1,1,1,1]>(x,w,o)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() y = MaxPool<kernel_shape=[3,3]>(x)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() y = AveragePool<kernel_shape=[3,3]>(x)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() y = LpPool<kernel_shape=[3,3]>(x)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() y,i = MaxPool<kernel_shape=[2,2]>(x)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() c = Cast<to=2>(x) y,i = MaxPool<kernel_shape=[2,2]>(c)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() a,i = MaxPool<kernel_shape=[2,2],strides=[2,2]>(x) y = MaxUnpool<kernel_shape=[2,2],strides=[2,2]>(a,i)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() y = GlobalAveragePool(x)",
    "x = RandomUniform<shape=[1,1,4,4]>() s = Constant<value_ints=[1,1,$R,$R]>() y = Resize<mode=\"nearest\">(x,,,s)",
    "x = RandomUniform<shape=[1,1,4,4]>() s = Constant<value_ints=[1,1,$R,$R]>() y = Resize<mode=\"nearest\",antialias=1>(x,,,s)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() s = Constant<value_ints=[1,1,4,4]>() y = Resize<mode=\"nearest\",antialias=1>(x,,,s)",
    "x = RandomUniform<shape=[1,1,4]>() s = Constant<value_ints=[1,1,$N]>() y = Resize<mode=\"nearest\">(x,,,s)",
    "x = RandomUniform<shape=[1,1,4,4]>() g = RandomUniform<shape=[1,$R,$R,2]>() y = GridSample<mode=\"nearest\">(x,g)",
    "x = RandomUniform<shape=[1,1,4,4]>() s = Constant<value_ints=[1,1,$R,$R]>() y = Resize<mode=\"linear\">(x,,,s)",
    "x = RandomUniform<shape=[1,1,4,4]>() s = Constant<value_ints=[1,1,$R,$R]>() y = Resize<mode=\"linear\",antialias=1>(x,,,s)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() s = Constant<value_ints=[1,1,4,4]>() y = Resize<mode=\"linear\",antialias=1>(x,,,s)",
    "x = RandomUniform<shape=[1,1,4]>() s = Constant<value_ints=[1,1,$N]>() y = Resize<mode=\"linear\">(x,,,s)",
    "x = RandomUniform<shape=[1,1,4,4]>() g = RandomUniform<shape=[1,$R,$R,2]>() y = GridSample<mode=\"linear\">(x,g)",
    "x = RandomUniform<shape=[1,1,4,4]>() s = Constant<value_ints=[1,1,$R,$R]>() y = Resize<mode=\"cubic\">(x,,,s)",
    "x = RandomUniform<shape=[1,1,4,4]>() s = Constant<value_ints=[1,1,$R,$R]>() y = Resize<mode=\"cubic\",antialias=1>(x,,,s)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() s = Constant<value_ints=[1,1,4,4]>() y = Resize<mode=\"cubic\",antialias=1>(x,,,s)",
    "x = RandomUniform<shape=[1,1,4]>() s = Constant<value_ints=[1,1,$N]>() y = Resize<mode=\"cubic\">(x,,,s)",
    "x = RandomUniform<shape=[1,1,4,4]>() g = RandomUniform<shape=[1,$R,$R,2]>() y = GridSample<mode=\"cubic\">(x,g)",
    "t = Constant<value = float[1,2,3] {1,0,0,0,1,0}>() s = Constant<value_ints=[1,1,$R,$R]>() y = AffineGrid(t,s)",
    "x = RandomUniform<shape=[1,1,4,4]>() r = RandomUniform<shape=[$N,4]>() s_b = Constant<value_ints=[$N]>() b = ConstantOfShape<value = int64[1] {0}>(s_b) y = RoiAlign(x,r,b)",
    "x = RandomUniform<shape=[1,1,4,4]>() r = RandomUniform<shape=[1,4]>() s_b = Constant<value_ints=[1]>() b = ConstantOfShape<value = int64[1] {0}>(s_b) y = RoiAlign<output_height=$R,output_width=$R>(x,r,b)",
    "x = RandomUniform<shape=[1,1,4,4]>() s_b = Constant<value_ints=[$N,5]>() b = ConstantOfShape<value = float[1] {0}>(s_b) y = MaxRoiPool<pooled_shape=[2,2]>(x,b)",
    "b = RandomUniform<shape=[1,$R,4]>() s = RandomUniform<shape=[1,$R,$R]>() n = Constant<value_ints=[$R]>() y = NonMaxSuppression(b,s,n)",
    "b = RandomUniform<shape=[1,$N,4]>() s = RandomUniform<shape=[1,1,$N]>() n = Constant<value_ints=[10]>() y = NonMaxSuppression(b,s,n)",
    "x = RandomUniform<shape=[1,4,$R,$R]>() y = DepthToSpace<blocksize=2>(x)",
    "x = RandomUniform<shape=[1,1,$N,4]>() y = SpaceToDepth<blocksize=2>(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = EyeLike(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = Trilu(x)",
    "x = RandomUniform<shape=[$N,2,2]>() y = Det(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = Det(x)",
    "s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = uint64[1] {0}>(s_i) y = BitShift<direction=\"LEFT\">(i,i)",
    "x = RandomUniform<shape=[$N]>() y = Bernoulli(x)",
    "y = RandomNormal<shape=[$N]>()",
    "x = RandomUniform<shape=[$N]>() y = RandomNormalLike(x)",
    "x = RandomUniform<shape=[1,2]>() y = Multinomial<sample_size=$N>(x)",
    "x = RandomUniform<shape=[1,$N]>() y = Multinomial<sample_size=2>(x)",
    "x = RandomUniform<shape=[$N]>() r = Constant<value_float=0.5>() t = Constant<value=bool {1}>() y,mm = Dropout(x,r,t)",
    "x = RandomUniform<shape=[1,$N,1]>() y = DFT(x)",
    "x = RandomUniform<shape=[1,$N,1]>() n = Constant<value_int=$N>() o = Constant<value_int=1>() p = Sub(n,o) y = DFT<onesided=1>(x,p)",
    "x = RandomUniform<shape=[1,$N,1]>() c = Cast<to=11>(x) y = DFT(c)",
    "x = RandomUniform<shape=[$H,2,1]>() y = DFT(x)",
    "x = RandomUniform<shape=[1,$N,1]>() f = Constant<value_int=4>() w = RandomUniform<shape=[16]>() y = STFT(x,f,w)",
    "x = RandomUniform<shape=[1,$N,1]>() f = Constant<value_int=1>() w = RandomUniform<shape=[$R]>() y = STFT(x,f,w)",
    "n = Constant<value_int=$N>() y = HannWindow(n)",
    "n = Constant<value_int=$N>() y = HammingWindow<output_datatype=11>(n)",
    "n = Constant<value_int=$N>() y = BlackmanWindow<output_datatype=10>(n)",
    "a = Constant<value_int=$R>() b = Constant<value_int=$R>() r = Constant<value_int=16000>() f = Constant<value_float=0.0>() h = Constant<value_float=8000.0>() y = MelWeightMatrix(a,b,r,f,h)",
    "s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = TfIdfVectorizer<max_gram_length=2,max_skip_count=1,min_gram_length=1,mode=\"TF\",ngram_counts=[0,2],ngram_indexes=[0,1,2,3],pool_int64s=[0,1,0,0,1,1]>(i)",
    "s_i = Constant<value_ints=[$N,1]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = TfIdfVectorizer<max_gram_length=1,max_skip_count=0,min_gram_length=1,mode=\"TF\",ngram_counts=[0],ngram_indexes=[0,1,2,9],pool_int64s=[0,1,2,3]>(i)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y = TfIdfVectorizer<max_gram_length=2,max_skip_count=1,min_gram_length=1,mode=\"TF\",ngram_counts=[0,2],ngram_indexes=[0,1,2,3],pool_strings=[\"0\",\"1\",\"0\",\"0\",\"1\",\"1\"]>(t)",
    "x = RandomUniform<shape=[$N]>() s = Constant<value_float=0.1>() y = QuantizeLinear(x,s)",
    "s_q = Constant<value_ints=[$N]>() q = ConstantOfShape<value = uint8[1] {0}>(s_q) s = Constant<value_float=0.1>() y = DequantizeLinear(q,s)",
    "x = RandomUniform<shape=[$N]>() y,s,zp = DynamicQuantizeLinear(x)",
    "x = RandomUniform<shape=[2,$H]>() s = RandomUniform<shape=[$H]>() y,a,b = BatchNormalization<training_mode=1>(x,s,s,s,s)",
    "x = RandomUniform<shape=[1,1,$N]>() s = RandomUniform<shape=[1]>() y = InstanceNormalization(x,s,s)",
    "x = RandomUniform<shape=[$R,$R]>() s = RandomUniform<shape=[$R]>() y,a,b = LayerNormalization(x,s,s)",
    "x = RandomUniform<shape=[$N,1]>() s = RandomUniform<shape=[1]>() y,a,b = LayerNormalization(x,s,s)",
    "x = RandomUniform<shape=[1,4,$N]>() s = RandomUniform<shape=[4]>() y = GroupNormalization<num_groups=2>(x,s,s)",
    "x = RandomUniform<shape=[1,$R,$R,1]>() y = LRN<size=5>(x)",
    "x = RandomUniform<shape=[1,1,$R,$R]>() y = MeanVarianceNormalization(x)",
    "x = RandomUniform<shape=[$N,1]>() a = Constant<value_ints=[1]>() y = ReduceSum(x,a)",
    "x = RandomUniform<shape=[$N,1]>() a = Constant<value_ints=[1]>() y = ReduceMax(x,a)",
    "x = RandomUniform<shape=[$N,1]>() a = Constant<value_ints=[1]>() y = ReduceMean(x,a)",
    "x = RandomUniform<shape=[$N,1]>() a = Constant<value_ints=[1]>() y = ReduceProd(x,a)",
    "x = RandomUniform<shape=[$N,1]>() a = Constant<value_ints=[1]>() y = ReduceL2(x,a)",
    "x = RandomUniform<shape=[$N,1]>() a = Constant<value_ints=[1]>() y = ReduceLogSumExp(x,a)",
    "x = RandomUniform<shape=[$N,1]>() a = Constant<value_ints=[1]>() y = ReduceSumSquare(x,a)",
    "x = RandomUniform<shape=[$N]>() c = Cast<to=11>(x) y = Softplus(c)",
    "x = RandomUniform<shape=[$N,2]>() s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y,l = SoftmaxCrossEntropyLoss<reduction=\"none\">(x,i)",
    "x = RandomUniform<shape=[$N,2]>() s_i = Constant<value_ints=[$N]>() i = ConstantOfShape<value = int64[1] {0}>(s_i) y = NegativeLogLikelihoodLoss<reduction=\"none\">(x,i)",
    "x = RandomUniform<shape=[$N,1,1]>() w = RandomUniform<shape=[1,4,1]>() r = RandomUniform<shape=[1,4,4]>() y = RNN<hidden_size=4>(x,w,r)",
    "x = RandomUniform<shape=[$N,1,1]>() w = RandomUniform<shape=[1,16,1]>() r = RandomUniform<shape=[1,16,4]>() y = LSTM<hidden_size=4>(x,w,r)",
    "x = RandomUniform<shape=[1,$N,1]>() w = RandomUniform<shape=[1,16,1]>() r = RandomUniform<shape=[1,16,4]>() y = LSTM<hidden_size=4>(x,w,r)",
    "x = RandomUniform<shape=[$N,1,1]>() w = RandomUniform<shape=[2,12,1]>() r = RandomUniform<shape=[2,12,4]>() y = GRU<hidden_size=4,direction=\"bidirectional\">(x,w,r)",
    "x = RandomUniform<shape=[1,1,1]>() a = RandomUniform<shape=[1,4,$R,1]>() b = RandomUniform<shape=[1,4,$R,$R]>() s = Constant<value_ints=[1,-1,1]>() s2 = Constant<value_ints=[1,-1,$R]>() w = Reshape(a,s) r = Reshape(b,s2) y = LSTM<hidden_size=$R>(x,w,r)",
    "x = RandomUniform<shape=[1,1,$R,64]>() y = Attention(x,x,x)",
    "x = RandomUniform<shape=[1,4,$R,8]>() y,a,b,c = Attention<qk_matmul_output_mode=3>(x,x,x)",
    "x0 = RandomUniform<shape=[1,4,$R,8]>() x = Cast<to=10>(x0) y = Attention(x,x,x)",
    "x = RandomUniform<shape=[$N]>() y = Sum(x,x,x,x)",
    "x = RandomUniform<shape=[$N]>() c = Cast<to=9>(x) y = Where(c,x,x)",
    "x = RandomUniform<shape=[$N]>() y = Pow(x,x)",
    "x = RandomUniform<shape=[$N]>() q = SplitToSequence(x) o = Optional(q) y = OptionalGetElement(o)",
    "x = RandomUniform<shape=[$N]>() y = Celu(x)",
    "x = RandomUniform<shape=[$R,$R]>() y = com.microsoft.FusedMatMul<transA=1>(x,x)",
    "x = RandomUniform<shape=[$R,32]>() s_b = Constant<value_ints=[$R,1,16]>() b = ConstantOfShape<value = uint8[1] {0}>(s_b) s = RandomUniform<shape=[$R]>() y = com.microsoft.MatMulNBits<K=32,N=$R,bits=4,block_size=32>(x,b,s)",
    "x = RandomUniform<shape=[1,$R,64]>() y = com.microsoft.MultiHeadAttention<num_heads=4>(x,x,x)",
    "x = RandomUniform<shape=[1,$R,$R]>() s = RandomUniform<shape=[$R]>() y,a,b,c = com.microsoft.SkipLayerNormalization(x,x,s,s)",
    "t = Constant<value_strings=[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]>() n = Constant<value_ints=[$N]>() e = Tile(t,n) y = com.microsoft.Tokenizer<mark=0,mincharnum=1,pad_value=\"#\",tokenexp=\"a\">(e)",
    "t = Constant<value_strings=[\"aaa a a a a a\"]>() n = Constant<value_ints=[$N]>() e = Tile(t,n) y = com.microsoft.Tokenizer<mark=1,mincharnum=1,pad_value=\"#\",separators=[\" \"]>(e)",
    "x = RandomUniform<shape=[$R,2]>() y = com.microsoft.CDist<metric=\"euclidean\">(x,x)",
    "x = RandomUniform<shape=[$N,2,2]>() y = com.microsoft.Inverse(x)",
    "x = RandomUniform<shape=[$N]>() t = Cast<to=8>(x) y = com.microsoft.MurmurHash3(t)",
    "x = RandomUniform<shape=[$N]>() y,i,c = com.microsoft.Unique(x)",
    "a = Constant<value_int=0>() b = Constant<value_int=$N>() y = com.microsoft.Range(a,b)",
    "x = RandomUniform<shape=[1,$N]>() y = com.microsoft.Rfft<normalized=0,onesided=1,signal_ndim=1>(x)",
    "x = RandomUniform<shape=[1,1,4,4]>() r = RandomUniform<shape=[$N,4]>() s_b = Constant<value_ints=[$N]>() b = ConstantOfShape<value = int32[1] {0}>(s_b) c = Constant<value=int32[2] {2,2}>() y = com.microsoft.CropAndResize(x,r,b,c)",
    "x = RandomUniform<shape=[$R,$R]>() s = RandomUniform<shape=[$R]>() y = com.microsoft.BiasGelu(x,s)",
    "x = RandomUniform<shape=[$N]>() a = Constant<value=int32 {0}>() y = com.microsoft.ExpandDims(x,a)",
    "x = RandomUniform<shape=[$R,$R]>() y = com.microsoft.Trilu(x)",
    "x = RandomUniform<shape=[1,1,4,4]>() g = RandomUniform<shape=[1,$R,$R,2]>() y = com.microsoft.GridSample(x,g)",
    "x = RandomUniform<shape=[4]>() p = Constant<value_ints=[0,$N]>() v = Constant<value_float=0.0>() y = com.microsoft.Pad(x,p,v)",
    "s_a = Constant<value_ints=[$N]>() a = ConstantOfShape<value = int64[1] {0}>(s_a) s_b = Constant<value_ints=[$N]>() b = ConstantOfShape<value = int64[1] {0}>(s_b) s_c = Constant<value_ints=[1]>() c = ConstantOfShape<value = int64[1] {0}>(s_c) cc = Constant<value_ints=[-1]>() y,s = com.microsoft.BifurcationDetector<min_ngram_size=1,max_ngram_size=2>(a,b,c)",
];
