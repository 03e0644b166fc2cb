//! Repetition takes linear time and memory: nothing is quadratic.

mod mistakes;
mod wide;

use conformance::convert::{print, read_text};
use conformance::corpus::left_out;
use conformance::graphs;
use conformance::texts::{places_are_sound, use_text};
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::semver::differences;
use onnx_ir::{VerifyOptions, verify};
use onnx_ops::schema::Registry;
use onnx_text::{Profile, read_model};
use onnxtxt::diff::{Options, diff};
use peak_alloc::PeakAlloc;
use std::cell::Cell;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;
/// One measurement at a time: time and memory are the process's.
static ALONE: Mutex<()> = Mutex::new(());

/// Bytes that reading a text may take at most for each of its bytes: a token of one byte takes 12, and a tree and a
/// model are made of them.
const MEMORY_FACTOR: usize = 300;
/// Bytes for each byte of the wire format, where a node or function takes two bytes.
const WIRE_MEMORY_FACTOR: usize = 1500;
/// Bytes for each byte of a text that is checked, with types and shapes, and an entry for each different call.
const CHECK_MEMORY_FACTOR: usize = 600;
/// Bytes for each byte of a model that is planned and run.
const PLAN_MEMORY_FACTOR: usize = 1500;
const MEMORY_BASE: usize = 8 << 20;
/// The time for twice the size over the time for the size: 2 if it is linear, 4 if it is quadratic.
const TIME_FACTOR: f64 = 3.0;
/// A time that is exceeded at these sizes only by quadratic behaviour.
const TIME_BASE: Duration = Duration::from_millis(15);

/// No neighbor makes a machine so slow: no second try.
const TIME_SURE: Duration = Duration::from_secs(30);

struct Cost {
    time: Duration,
    memory: usize,
}

/// The processor time and the memory of one run.
fn cost(work: impl FnOnce()) -> Cost {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let start = processor_time();
    work();
    let time = processor_time().saturating_sub(start);
    Cost { time, memory: MEMORY.peak_usage().saturating_sub(before) }
}

/// The processor time of the process, which does not depend on how busy the machine is.
#[cfg(unix)]
fn processor_time() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("a clock").into()
}

/// The time, where processor time is not available.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

fn alone() -> impl Drop {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Whether `large`, which is twice `small`, takes about twice the time, and memory in proportion.
fn is_linear<T: AsRef<[u8]> + ?Sized>(
    small: &T,
    large: &T,
    memory_factor: usize,
    work: impl Fn(&T),
) -> Result<(), String> {
    grows_within(small, large, memory_factor, (TIME_FACTOR, TIME_BASE), work)
}

/// Whether `large` takes at most so many times the time of `small`, and a base, and memory in proportion. Others may use the machine, so
/// the least times of several runs decide before it says no.
fn grows_within<T: AsRef<[u8]> + ?Sized>(
    small: &T,
    large: &T,
    memory_factor: usize,
    (time_factor, time_base): (f64, Duration),
    work: impl Fn(&T),
) -> Result<(), String> {
    const TRIES: usize = 12;
    let limit = memory_factor * large.as_ref().len() + MEMORY_BASE;
    let (mut least_small, mut least_large) = (Duration::MAX, Duration::MAX);
    for _ in 0..TRIES {
        least_small = least_small.min(cost(|| work(small)).time);
        let Cost { time, memory } = cost(|| work(large));
        least_large = least_large.min(time);
        if memory > limit {
            return Err(format!("{memory} bytes of memory, more than {limit}"));
        }
        if least_large <= least_small.mul_f64(time_factor) + time_base {
            return Ok(());
        }
        if least_large > TIME_SURE {
            break;
        }
    }
    let [small, large] = [small, large].map(|of| of.as_ref().len());
    Err(format!("{least_small:?} for {small} bytes, {least_large:?} for {large}"))
}

/// The text before a repeated part.
const CONTEXTS: &[&str] = &[
    "",
    "#@ onnxtxt 1\n",
    "#@ onnxtxt 1\n#@ metadata_props: [",
    "<",
    "<opset_import: [",
    "<metadata_props: [",
    "g (",
    "g () => (",
    "g () => () <",
    "g () => () {",
    "g () => () { y = F <",
    "g () => () { y = F <a = ",
    "g () => () { y = F <a = [",
    "g () => () { y = F <a = {",
    "g () => () { y = F (",
    "g () => () { y = ",
    "g () => () { ",
    "g () => () <float[2] w = {",
    "g () => () <float[",
    "g () => () <seq(",
    "g () => () {} f <",
    "g () => () {} <",
    "g () => () {}\n",
];

const PIECES: &[&str] = &[
    "(",
    "[",
    "{",
    "<",
    ")",
    "]",
    "}",
    ">",
    ",",
    ".",
    "=",
    "=>",
    ":",
    "@",
    "?",
    "$",
    "#",
    "/",
    "\\",
    "\"",
    "b\"",
    ";",
    "-",
    "~",
    "\0",
    "\u{1}",
    "é",
    "\u{feff}",
    "\n",
    "x",
    "x ",
    "x, ",
    "x\n",
    "x = ",
    "x: ",
    "\"a\" ",
    "\"a\": \"b\", ",
    "1",
    "1 ",
    "1, ",
    "1.5, ",
    "nan, ",
    "1e",
    "1e ",
    "0x1F ",
    "/l/T ",
    "# c\n",
    "// c\n",
    "/* c */ ",
    "/* c\n",
    "## d\n",
    "#@ a: 1\n",
    "#@\n",
    "#@ unset: [name]\n",
    "x.",
    "x = 1, ",
    "a: 1, ",
    "ir_version: 1, ",
    "float x, ",
    "float[N] x = {1}, ",
    "seq(",
    "map(",
    "x = [",
    "x = {1}, ",
    "()",
    "[]",
    "{}",
    "<>",
    "(x) ",
    "[x] ",
    "x(",
    "x (x) ",
    "(x x",
    "{x = ",
    "y = F(x)\n",
    "y = F(x), ",
    "y = F <a = 1> (x)\n",
    "y = F <a = 1 (x)\n",
    "y = F(x\n",
    "y F(x)\n",
    "y = F)x(\n",
    "g => () {} ",
    "g (",
    "g () => () <",
    "f () => () {}\n",
    "<domain: \"d\"> f () => () {}\n",
    "x = g () => () { ",
    "x = @y, ",
    "x: float = @y, ",
    "sparse [1] {",
    "{{1}}, ",
    "} {",
    ") (",
    "> <",
    "] [",
    "= >",
    "x => ",
    "\"\n",
    "\"\\",
];

#[test]
fn repetition_takes_linear_time_and_memory() {
    const SIZE: usize = 60_000;
    let _alone = alone();
    let mut failed = Vec::new();
    for context in CONTEXTS {
        for piece in PIECES {
            let text = |size: usize| format!("{context}{}", piece.repeat(size / piece.len()));
            let (once, twice) = (text(SIZE), text(2 * SIZE));
            if let Err(why) =
                is_linear(once.as_str(), twice.as_str(), MEMORY_FACTOR, |text| drop(use_text(text)))
            {
                failed.push(format!("{context:?} {piece:?}: {why}"));
            }
            if let Err(why) = places_are_sound(&use_text(&once), &once) {
                failed.push(format!("{context:?} {piece:?}: {why}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn lines_of_twenty_megabytes_are_read_in_linear_time() {
    const SIZE: usize = 20_000_000;
    let _alone = alone();
    let sound = |inside: &dyn Fn(usize) -> String| {
        for size in [SIZE / 10, SIZE] {
            let text = inside(size);
            let errors: Vec<_> =
                read_model(&text).diagnostics.into_iter().filter(Diagnostic::is_error).collect();
            assert!(errors.is_empty(), "{:?}: {}", text.get(..60), errors[0].message);
        }
        is_linear(inside(SIZE / 2).as_str(), inside(SIZE).as_str(), MEMORY_FACTOR, |text| {
            drop(use_text(text))
        })
    };
    let numbers = |size: usize| vec!["1"; size / 3].join(", ");
    assert_eq!(sound(&|size| format!("g () => () {{}} # {}", "x".repeat(size))), Ok(()));
    assert_eq!(sound(&|size| format!("{} () => () {{}}", "x".repeat(size))), Ok(()));
    assert_eq!(sound(&|size| format!("\"{}\" () => () {{}}", "é".repeat(size / 2))), Ok(()));
    assert_eq!(
        sound(&|size| format!("<doc_string: \"{}\"> g () => () {{}}", "\\\"".repeat(size / 2))),
        Ok(())
    );
    assert_eq!(
        sound(&|size| format!("g () => () <int64[{}] w = {{{}}}> {{}}", size / 3, numbers(size))),
        Ok(())
    );
    assert_eq!(sound(&|size| format!("g () => () {{ y = F <a = [{}]> () }}", numbers(size))), Ok(()));
    assert_eq!(sound(&|size| format!("g () => () {{ y = F({}) }}", vec!["x"; size / 3].join(", "))), Ok(()));
    assert_eq!(sound(&|size| format!("g () => () {{ {} }}", "y = F(x) ".repeat(size / 9))), Ok(()));
}

/// Fields that hold the one behind: the graph, its nodes, their attributes, …
const PATHS: &[&[u8]] = &[
    &[],
    &[7],
    &[7, 1],
    &[7, 1, 5],
    &[7, 1, 5, 6],
    &[7, 1, 5, 5],
    &[7, 1, 10],
    &[7, 5],
    &[7, 11],
    &[7, 11, 2],
    &[7, 11, 2, 1, 2],
    &[7, 14],
    &[7, 15],
    &[20],
    &[25],
    &[26],
];

#[test]
fn repeated_fields_take_linear_time_and_memory() {
    const COUNT: usize = 5_000;
    let _alone = alone();
    let mut failed = Vec::new();
    for path in PATHS {
        for number in 1..=26_u8 {
            for piece in field_pieces(number) {
                let wire = |count: usize| {
                    let repeated = piece.repeat(count);
                    path.iter().rev().fold(repeated, |inner, &number| delimited(number, &inner))
                };
                let use_wire = |wire: &[u8]| {
                    let model = onnx_proto::read(wire.to_vec().into()).value;
                    drop(verify(&model, &VerifyOptions::default()));
                    drop(read_model(&print(&model, Profile::Onnx).text));
                };
                if let Err(why) = is_linear(
                    wire(COUNT).as_slice(),
                    wire(2 * COUNT).as_slice(),
                    WIRE_MEMORY_FACTOR,
                    use_wire,
                ) {
                    failed.push(format!("{path:?} {piece:?}: {why}"));
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}

fn field_pieces(number: u8) -> [Vec<u8>; 4] {
    let key = |wire_type: u8| {
        let key = u16::from(number) << 3 | u16::from(wire_type);
        if key < 128 { vec![key as u8] } else { vec![key as u8 | 0x80, (key >> 7) as u8] }
    };
    // A number; nothing; `x`, which is also a field; a message with `x` as its first field.
    [
        [key(0), vec![1]].concat(),
        [key(2), vec![0]].concat(),
        [key(2), vec![1, b'x']].concat(),
        [key(2), vec![3, 0x0a, 1, b'x']].concat(),
    ]
}

fn delimited(number: u8, value: &[u8]) -> Vec<u8> {
    let mut out = field_pieces(number)[1].clone();
    out.pop();
    let mut length = value.len();
    while length >= 128 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(value);
    out
}

/// Checks a text with types, which must find no error.
fn check_text(text: &str) {
    let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
    let checked = onnx_text::check_with(text, Level::Types, |model| {
        onnx_ops::check::check(model, Registry::builtin(), &options)
    });
    let error = checked.diagnostics.iter().find(|found| found.is_error());
    assert!(error.is_none(), "{error:?}");
}

const HEADER: &str = "<ir_version: 10, opset_import: [\"\": 21, \"f\": 1]>\n";
const FUNCTION: &str = "<domain: \"f\", opset_import: [\"\": 21, \"f\": 1]>\n";

/// Nodes one after the other, whose shapes depend on the shapes before.
fn chain(nodes: usize) -> String {
    let mut text = format!("{HEADER}g (float[N,8] x0, float[8,8] w) => (float[N,8] x{nodes}) {{\n");
    for i in 0..nodes {
        let next = i + 1;
        let _ = match i % 4 {
            0 => writeln!(text, "x{next} = MatMul(x{i}, w)"),
            1 => writeln!(text, "s{i} = Shape(x{i}) x{next} = Reshape(x{i}, s{i})"),
            2 => writeln!(text, "x{next} = Add(x{i}, x0)"),
            _ => writeln!(text, "t{i} = Transpose(x{i}) x{next} = Transpose(t{i})"),
        };
    }
    text + "}\n"
}

/// Extents that are sums of more and more of the inputs' extents, all of them different.
fn sums(nodes: usize) -> String {
    let mut text = format!("{HEADER}g (");
    for i in 0..nodes {
        let comma = if i > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}float[N{i},2] a{i}");
    }
    text += ") => () {\n";
    for i in 1..nodes {
        let _ = writeln!(text, "b{i} = Concat <axis = 1> (a{i}, a{i}) c{i} = Concat <axis = 0> (a{i}, a0)");
    }
    text + "}\n"
}

/// Functions that are each called once, at inputs of a shape of its own.
fn functions(count: usize) -> String {
    let mut text = format!("{HEADER}g (float[N] x) => () {{\n");
    for i in 0..count {
        let _ = writeln!(text, "y{i} = f.f{i}(x)");
    }
    text += "}\n";
    for i in 0..count {
        let _ = writeln!(
            text,
            "{FUNCTION}f{i} (x) => (y) {{ a = Relu(x) b = Concat <axis = 0> (a, x) y = Abs(b) }}"
        );
    }
    text
}

/// One function, called at another shape each time.
fn calls(count: usize) -> String {
    let mut text = format!("{HEADER}g (float[N] x0) => (float[N] y) {{\n");
    for i in 0..count {
        let _ = writeln!(
            text,
            "c{i} = Constant <value_ints = [1{i}, 1]> () r{i} = Expand(x0, c{i}) y{i} = f.f(r{i})"
        );
    }
    text += "y = Relu(x0) }\n";
    text + FUNCTION + "f (x) => (y) { a = Relu(x) b = Concat <axis = 0> (a, x) y = Abs(b) }\n"
}

/// Graphs in graphs, 16 deep, several times.
fn nested(count: usize) -> String {
    let mut text = format!("{HEADER}g (bool c, float[N] x) => () {{\n");
    for k in 0..count {
        for i in 0..16 {
            let _ = writeln!(
                text,
                "y{k}_{i} = If(c) <else_branch = e{k}_{i} () => (p{k}_{i}) {{ p{k}_{i} = Abs(x) }}, \
                 then_branch = t{k}_{i} () => (y{k}_{}) {{",
                i + 1
            );
        }
        let _ = writeln!(text, "y{k}_16 = Relu(x) {}", "}>".repeat(16));
    }
    text + "}\n"
}

#[test]
fn checking_types_takes_linear_time_and_memory() {
    let _alone = alone();
    type Make = fn(usize) -> String;
    let models: &[(&str, Make, usize)] = &[
        ("chain", chain, 4000),
        ("sums", sums, 2000),
        ("functions", functions, 1000),
        ("calls", calls, 1000),
        ("nested", nested, 50),
    ];
    for (what, make, size) in models {
        let (once, twice) = (make(*size), make(2 * size));
        let done = is_linear(once.as_str(), twice.as_str(), CHECK_MEMORY_FACTOR, check_text);
        assert_eq!(done, Ok(()), "{what}");
    }
}

/// Inputs with defaults, and as many outputs.
fn ports(count: usize) -> String {
    let list = |each: fn(usize) -> String| (0..count).map(each).collect::<Vec<_>>().join(", ");
    format!(
        "{HEADER}g ({}) => ({})\n<{}> {{\n{}\n}}\n",
        list(|i| format!("float[2] x{i}")),
        list(|i| format!("float[2] y{i}")),
        list(|i| format!("float[2] x{i} = {{{i}, 1}}")),
        (0..count).map(|i| format!("y{i} = Relu(x{i})\n")).collect::<String>()
    )
}

#[test]
fn comparing_models_takes_linear_time_and_memory() {
    let _alone = alone();
    type Make = fn(usize) -> String;
    let models: &[(&str, Make, usize)] =
        &[("ports", ports, 5000), ("functions", functions, 2000), ("a chain", chain, 5000)];
    let compare = |text: &str| {
        let old = read_model(text).value;
        // Names of inputs, functions and results that only the new one has.
        let new = read_model(&text.replace("7 ", "7q ").replace("7)", "7q)")).value;
        assert!(differences(&old, &old).is_empty());
        drop(differences(&old, &new));
        assert!(diff(&old, &old, &Options::default()).is_empty());
        drop(diff(&old, &new, &Options::default()));
    };
    for (what, make, size) in models {
        let (once, twice) = (make(*size), make(2 * size));
        assert_eq!(is_linear(once.as_str(), twice.as_str(), CHECK_MEMORY_FACTOR, compare), Ok(()), "{what}");
    }
}

/// Bytes that a model of small functions takes for each byte of its file.
const FUNCTION_MEMORY_FACTOR: usize = 30;

#[test]
fn functions_take_the_memory_that_they_need() {
    const COUNT: usize = 20_000;
    let _alone = alone();
    let function = |i| format!("\n{FUNCTION}f{i} (x) => (y) {{ y = Abs(x) }}");
    let text = format!("{HEADER}g () => () {{}}{}", (0..COUNT).map(function).collect::<String>());
    let model = read_text(&text).expect("it is valid");
    let wire = onnx_proto::write(&model).expect("it is small");
    let before = MEMORY.current_usage();
    let model = onnx_proto::read(wire.clone().into()).value;
    let taken = MEMORY.current_usage().saturating_sub(before);
    assert_eq!(model.functions.len(), COUNT);
    assert!(taken <= FUNCTION_MEMORY_FACTOR * wire.len(), "{taken} bytes of memory for {}", wire.len());
}

/// Plans and runs a text of [`graphs`]; the steps that both took.
fn plan_and_run(text: &str) -> u64 {
    let model = read_text(text).expect("it is valid");
    // The names of these graphs hide others.
    let unchecked = CompileOptions { unchecked: true, ..CompileOptions::default() };
    let executable = compile(&model, Registry::builtin(), &unchecked).expect("it can be run");
    let steps = AtomicU64::new(0);
    let x = Tensor::of(&graphs::DIMS, &[0.25f32; 32]).expect("32 elements");
    let c = Tensor::of_bools(&[], [true]).expect("one element");
    let given = vec![Some(Value::Tensor(x)), Some(Value::Tensor(c))];
    let options = RunOptions { steps: Some(&steps), threads: 1, ..RunOptions::default() };
    let results = executable.run(given, &options).expect("it runs");
    assert_eq!(results.len(), 1);
    steps.load(Ordering::Relaxed)
}

/// Steps or time for ten times the nodes over those for the nodes: 10 where they are linear, somewhat more for few nodes, whose
/// expressions have not grown to their limit; 100 where they are quadratic.
const TEN_FACTOR: f64 = 20.0;

#[test]
fn planning_takes_linear_time_and_steps() {
    let _alone = alone();
    type Make = fn(usize) -> String;
    let models: &[(&str, Make)] = &[
        ("a chain", |n| graphs::chain(&["Tanh", "Sigmoid", "Relu"], n)),
        ("diamonds", graphs::diamonds),
        ("a fan", graphs::fan),
        ("a fan that is joined", graphs::join),
        ("a comb", graphs::comb),
        ("shapes that depend on data", graphs::dynamic),
        ("a quantized network", graphs::quantized),
        ("a random graph", |n| graphs::random(7, n)),
    ];
    // The largest take minutes in a build for tests.
    let is_all = std::env::var_os("ONNXTXT_ALL").is_some();
    if !is_all {
        left_out("planning graphs of 100,000 nodes (--all)");
    }
    let sizes: &[usize] = if is_all { &[100, 1_000, 10_000, 100_000] } else { &[100, 1_000, 10_000] };
    for (what, make) in models {
        let steps = Cell::new(plan_and_run(&make(sizes[0])));
        for pair in sizes.windows(2) {
            let before = steps.get();
            let (small, large) = (make(pair[0]), make(pair[1]));
            // The large one runs last.
            let work = |text: &str| steps.set(plan_and_run(text));
            let time = (TEN_FACTOR, TIME_BASE * 4);
            let done = grows_within(small.as_str(), large.as_str(), PLAN_MEMORY_FACTOR, time, work);
            assert_eq!(done, Ok(()), "{what}, {} nodes", pair[1]);
            let steps = steps.get();
            assert!(steps as f64 <= TEN_FACTOR * before as f64, "{what}: {before}, then {steps} steps");
        }
        let work = |text: &str| assert!(plan_and_run(text) > 0);
        let (once, twice) = (make(1_000), make(2_000));
        assert_eq!(is_linear(once.as_str(), twice.as_str(), PLAN_MEMORY_FACTOR, work), Ok(()), "{what}");
    }
    for (functions, calls) in [(8, 1 << 8), (9, 1 << 9)] {
        let text = graphs::calls(functions);
        assert!(
            plan_and_run(&text) < calls * 1_000_000,
            "{functions} functions that each call the next one twice"
        );
    }
}
