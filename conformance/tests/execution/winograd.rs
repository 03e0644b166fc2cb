//! Convolutions of 3×3 taps that are computed by Winograd's products: near to plain sums, the same on any number of threads, off
//! with `exact`, refused for weights that would lose precision, and read back from a schedule.

use conformance::convert::read_text;
use conformance::random::Random;
use onnx_exec::{CompileOptions, Executable, RunOptions, Tensor, Value, compile};
use onnx_ops::schema::Registry;

/// The words of a schedule for them.
const WORDS: &str = "as winograd product";
/// How far apart results may be, as a part of the sum of absolute products.
const TOLERANCE: f32 = 2e-5;

struct Convolution {
    batch: usize,
    channels: [usize; 2],
    extents: [usize; 2],
    pads: [usize; 4],
}

/// A convolution with weights that a seed gives, each times what a function says of it, and what follows it.
fn text(it: &Convolution, then: &str, seed: u64, factor: impl Fn(usize) -> f32) -> String {
    let Convolution { batch, channels: [channels, columns], extents: [height, width], pads } = it;
    let mut random = Random::new(seed);
    let mut number = || random.below(2001) as f32 / 1000.0 - 1.0;
    let count = columns * channels * 9;
    let weights: Vec<String> = (0..count).map(|at| format!("{:?}", number() * factor(at))).collect();
    let bias: Vec<String> = (0..*columns).map(|_| format!("{:?}", number())).collect();
    // Between convolutions, images have their channels last.
    let mut mix = |rows: usize, columns: usize| {
        let mix: Vec<String> =
            (0..rows * columns).map(|_| format!("{:?}", number() / columns as f32)).collect();
        format!("float[{rows}, {columns}, 1, 1] {{{}}}", mix.join(", "))
    };
    let (before, behind) = (mix(*channels, *channels), mix(*columns, *columns));
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[{batch}, {channels}, {height}, {width}] x) => (float y)\n\
         <float[{columns}, {channels}, 3, 3] w = {{{}}}, float[{columns}] b = {{{}}}>\n{{\n\
         p = Constant <value = {before}> ()\nq = Constant <value = {behind}> ()\n\
         m = Conv(x, p)\nc = Conv <pads = {pads:?}> (m, w, b)\n{then}\ny = Conv(z, q)\n}}\n",
        weights.join(", "),
        bias.join(", ")
    )
}

fn made(text: &str, options: &CompileOptions) -> Executable<'static> {
    let model = read_text(text).unwrap();
    compile(&model, Registry::builtin(), options).map_err(|found| found[0].message.clone()).unwrap()
}

/// A model whose schedule asks for them.
fn asked(text: &str, inputs: Vec<Option<Value>>, options: &CompileOptions) -> Executable<'static> {
    let written = schedule(&made(text, options), inputs.clone());
    let mut asked = String::new();
    let mut has_taps = false;
    for line in written.split_inclusive('\n') {
        let is_theirs = has_taps && line.contains("as matrix product");
        asked += &if is_theirs { line.replace("as matrix product", WORDS) } else { line.to_owned() };
        has_taps = line.contains(" < 3, ");
    }
    assert!(asked.contains(WORDS), "{written}");
    let written = asked;
    let executable = made(text, options);
    let done = executable.read_schedule(&written, inputs, &RunOptions::default());
    done.map_err(|finding| finding.message.clone()).unwrap();
    executable
}

fn input(it: &Convolution, seed: u64) -> Vec<Option<Value>> {
    let dims = [it.batch, it.channels[0], it.extents[0], it.extents[1]];
    let mut random = Random::new(seed);
    let numbers: Vec<f32> =
        (0..dims.iter().product()).map(|_| random.below(2001) as f32 / 1000.0 - 1.0).collect();
    vec![Some(Value::Tensor(Tensor::of(&dims, &numbers).unwrap()))]
}

fn run(executable: &Executable<'_>, inputs: Vec<Option<Value>>, threads: usize) -> Tensor {
    let options = RunOptions { threads, ..RunOptions::default() };
    let results = executable.run(inputs, &options).map_err(|finding| finding.message.clone()).unwrap();
    results[0].tensor().unwrap().clone()
}

fn schedule(executable: &Executable<'_>, inputs: Vec<Option<Value>>) -> String {
    executable.schedule(inputs, &RunOptions::default()).map_err(|found| found.message.clone()).unwrap().text
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    tensor.bytes().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn winograd_products_are_near_to_plain_sums_on_any_number_of_threads() {
    let shapes = [
        (1, [64, 64], [28, 28], [1, 1, 1, 1]),
        (1, [64, 64], [29, 31], [1, 0, 0, 1]),
        (2, [32, 48], [17, 22], [1, 1, 1, 1]),
        (1, [48, 70], [41, 19], [2, 2, 1, 0]),
        (3, [32, 33], [18, 30], [0, 1, 1, 2]),
        (1, [272, 40], [21, 22], [1, 1, 1, 1]),
        (1, [64, 36], [6, 200], [1, 1, 1, 1]),
    ];
    let follow = ["z = Relu(c)", "z = Identity(c)", "s = Sigmoid(c)\nz = Mul(c, s)", "z = Tanh(c)"];
    for (seed, (batch, channels, extents, pads)) in (0..).zip(shapes) {
        let it = Convolution { batch, channels, extents, pads };
        let text = text(&it, follow[seed as usize % follow.len()], seed, |_| 1.0);
        let inputs = input(&it, seed + 100);
        let planned = asked(&text, inputs.clone(), &CompileOptions::default());
        assert!(schedule(&planned, inputs.clone()).contains(WORDS), "{channels:?} {extents:?}");
        let one = run(&planned, inputs.clone(), 1);
        for threads in [2, 3] {
            assert!(
                one.bytes() == run(&planned, inputs.clone(), threads).bytes(),
                "{extents:?}: {threads} threads"
            );
        }
        let plain = made(&text, &CompileOptions { node_by_node: true, ..CompileOptions::default() });
        let expected = run(&plain, inputs, 1);
        assert_eq!(one.dims(), expected.dims());
        // Numbers are of even distribution from -1 to 1: a product is a quarter in the mean.
        let most = TOLERANCE * 9.0 * channels[0] as f32 / 4.0;
        for (a, b) in numbers(&one).iter().zip(numbers(&expected)) {
            assert!((a - b).abs() <= most, "{channels:?} {extents:?}: {a} is not {b}");
        }
    }
}

#[test]
fn exact_and_weights_without_precision_are_plain_products() {
    let (channels, extents) = ([64, 64], [28, 28]);
    let it = Convolution { batch: 1, channels, extents, pads: [1, 1, 1, 1] };
    let exact = CompileOptions { exact: true, ..CompileOptions::default() };
    let even = text(&it, "z = Relu(c)", 1, |_| 1.0);
    assert!(!schedule(&asked(&even, input(&it, 2), &exact), input(&it, 2)).contains(WORDS));
    // Weights of which the transforms overflow.
    let huge = text(&it, "z = Relu(c)", 1, |at| if at == 4000 { 1e36 } else { 1.0 });
    let planned = asked(&huge, input(&it, 2), &CompileOptions::default());
    assert!(!schedule(&planned, input(&it, 2)).contains(WORDS));
}

#[test]
fn schedules_choose_between_winograd_and_plain_products() {
    let it = Convolution { batch: 1, channels: [64, 64], extents: [28, 28], pads: [1, 1, 1, 1] };
    let text = text(&it, "z = Relu(c)", 1, |_| 1.0);
    let inputs = input(&it, 2);
    let planned = asked(&text, inputs.clone(), &CompileOptions::default());
    let written = schedule(&planned, inputs.clone());
    let expected = run(&planned, inputs.clone(), 1);
    let read = |text: &str| {
        let executable = made(&self::text(&it, "z = Relu(c)", 1, |_| 1.0), &CompileOptions::default());
        let done = executable.read_schedule(text, inputs.clone(), &RunOptions::default());
        done.map_err(|finding| finding.message.clone()).unwrap();
        (schedule(&executable, inputs.clone()), run(&executable, inputs.clone(), 1))
    };
    let (again, results) = read(&written);
    assert!(again.contains(WORDS) && results.bytes() == expected.bytes());
    let (again, results) = read(&written.replace(WORDS, "as matrix product"));
    assert!(!again.contains(WORDS) && results.bytes() != expected.bytes());
    assert!(numbers(&results).iter().zip(numbers(&expected)).all(|(a, b)| (a - b).abs() <= 3e-3));
}
