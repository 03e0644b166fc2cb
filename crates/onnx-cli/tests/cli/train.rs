//! `train` and `trainable`: losses fall, states are whole, and interrupted trainings end like others.

use crate::{Done, Folder, binary};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// `y = 2 a - b` is learned by a linear model; a comment stays.
const LINEAR: &str = "<
   ir_version: 10,
   opset_import: [\"\": 21, \"ai.onnx.preview.training\": 1],
   training_info: {
      initialization: initial () => (float[2,1] w0, int64 n0) {
         w0 = RandomUniform <shape = [2, 1], low = -1.0, high = 1.0> ()
         n0 = Constant <value_int = 0> ()
      },
      algorithm: step (float[N,1] target) => (float loss, float[2,1] w1, float[2,1] v1, int64 n1)
      <float rate = {0.05}, float[2,1] v = {0, 0}, int64 n = {0}>
      {
         d = Sub(y, target)
         s = Mul(d, d)
         loss = ReduceMean <keepdims = 0> (s)
         by_w = ai.onnx.preview.training.Gradient <xs = [\"w\"], y = \"loss\"> (w)
         w1, v1 = ai.onnx.preview.training.Momentum <alpha = 0.5, beta = 1.0, mode = \"standard\", norm_coefficient = 0.0> (rate, n, w, by_w, v)
         one = Constant <value_int = 1> ()
         n1 = Add(n, one)
      },
      initialization_binding: [\"w\": \"w0\", \"n\": \"n0\"],
      update_binding: [\"w\": \"w1\", \"v\": \"v1\", \"n\": \"n1\"]
   }
>
g (float[N,2] x) => (float[N,1] y)
# The weights.
<float[2,1] w = {0, 0}>
{
   y = MatMul(x, w) # a product
}
";

/// A table with the examples of `LINEAR`.
fn table(rows: usize) -> String {
    let mut text = "x.0,x.1,target\n".to_owned();
    for i in 0..rows {
        let (a, b) = ((i * 7 % 11) as f64 / 5.0 - 1.0, (i * 5 % 13) as f64 / 6.0 - 1.0);
        text += &format!("{a},{b},{}\n", 2.0 * a - b);
    }
    text
}

fn folder() -> Folder {
    Folder::new(&[("m.onnxtxt", LINEAR.as_bytes()), ("d.csv", table(40).as_bytes())])
}

/// The result of `train --format json`.
fn result(done: &Done) -> serde_json::Value {
    serde_json::from_str(done.text()).unwrap_or_else(|error| panic!("{error}: {}", done.said()))
}

fn example(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    root.join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_linear_model_is_learned_and_its_text_keeps_comments() {
    let folder = folder();
    let arguments = [
        "train",
        "m.onnxtxt",
        "-i",
        "d.csv",
        "--epochs",
        "40",
        "--batch",
        "8",
        "-o",
        "t.onnxtxt",
        "--format",
        "json",
    ];
    let done = result(&folder.run(&arguments).expect(0));
    assert_eq!((&done["steps"], &done["epochs"]), (&200.into(), &40.into()));
    assert!(done["last"]["loss"].as_f64().unwrap() < 1e-4, "{done}");
    let text = String::from_utf8(folder.read("t.onnxtxt")).unwrap();
    assert!(text.contains("# a product") && text.contains("# The weights."), "{text}");
    assert!(text.contains("n = {200}"), "{text}");
    folder.run(&["check", "t.onnxtxt"]).expect(0);
    // The trained model continues where it ended.
    let again = ["train", "t.onnxtxt", "-i", "d.csv", "-o", "u.onnx", "--format", "json"];
    assert!(result(&folder.run(&again).expect(0))["last"]["loss"].as_f64().unwrap() < 1e-4);
    for file in ["w.npz", "w.safetensors"] {
        folder.run(&["train", "m.onnxtxt", "-i", "d.csv", "-o", file]).expect(0);
        folder.run(&["weights", "import", "m.onnxtxt", file, "-o", &format!("{file}.onnx")]).expect(0);
    }
}

#[test]
fn progress_is_on_stderr_and_evaluations_are_reported() {
    let folder = folder();
    let arguments = ["train", "m.onnxtxt", "-i", "d.csv", "--eval", "d.csv", "--epochs", "3", "-o", "t.onnx"];
    let done = folder.run(&arguments).expect(0);
    assert!(done.stdout.is_empty());
    assert!(
        done.stderr.contains("step 3 (epoch 3): loss") && done.stderr.contains("eval loss"),
        "{}",
        done.stderr
    );
    let arguments = [
        "train",
        "m.onnxtxt",
        "-i",
        "d.csv",
        "--epochs",
        "500",
        "--early-stop",
        "2",
        "--log",
        "loss",
        "-o",
        "e.onnx",
        "--format",
        "json",
    ];
    let done = result(&folder.run(&arguments).expect(0));
    assert!(done["stopped_early"] == true && done["epochs"].as_u64().unwrap() < 500, "{done}");
}

#[test]
fn initial_weights_depend_on_the_seed_alone() {
    let folder = folder();
    for (seed, file) in [("1", "a.onnx"), ("1", "b.onnx"), ("2", "c.onnx")] {
        folder.run(&["train", "--init", "m.onnxtxt", "--seed", seed, "-o", file]).expect(0);
    }
    assert!(folder.read("a.onnx") == folder.read("b.onnx") && folder.read("a.onnx") != folder.read("c.onnx"));
    folder.run(&["train", "--step", "a.onnx", "-i", "d.csv", "-o", "s.onnx"]).expect(0);
    folder.run(&["train", "a.onnx", "-i", "d.csv", "--steps", "1", "-o", "t.onnx"]).expect(0);
    assert!(folder.read("s.onnx") == folder.read("t.onnx"));
}

#[test]
fn an_interrupted_training_ends_like_one_that_was_not() {
    let folder = folder();
    let common = [
        "train",
        "m.onnxtxt",
        "-i",
        "d.csv",
        "--batch",
        "7",
        "--shuffle",
        "--seed",
        "5",
        "--save",
        "every=4",
    ];
    let run = |more: &[&str]| folder.run(&[&common[..], more].concat());
    run(&["--steps", "30", "-o", "whole.onnx"]).expect(0);
    run(&["--steps", "13", "-o", "part.onnx"]).expect(0);
    run(&["--steps", "30", "--resume", "part.state.npz", "-o", "rest.onnx"]).expect(0);
    assert!(folder.read("whole.onnx") == folder.read("rest.onnx"));
    assert!(folder.read("whole.state.npz") == folder.read("rest.state.npz"));
    let other =
        ["train", "m.onnxtxt", "-i", "d.csv", "--seed", "6", "--resume", "part.state.npz", "-o", "x.onnx"];
    assert!(folder.run(&other).expect(2).stderr.contains("was saved with --seed 5"));
    let other = ["train", "m.onnxtxt", "-i", "d.csv", "--resume", "part.state.npz", "-o", "x.onnx"];
    assert!(folder.run(&other).expect(2).stderr.contains("with --shuffle"));
}

#[cfg(unix)]
#[test]
fn a_saved_state_is_whole_whenever_the_program_is_killed() {
    let folder = folder();
    let common =
        ["train", "m.onnxtxt", "-i", "d.csv", "--batch", "1", "--save", "every=1", "--state", "s.npz"];
    for wait in [0, 5, 20] {
        let arguments = [&common[..], &["--epochs", "100000", "-o", "never.onnx"]].concat();
        let mut child = folder.start(&arguments);
        let start = Instant::now();
        while !folder.path("s.npz").exists() && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(60));
        }
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        folder
            .run(&["train", "m.onnxtxt", "-i", "d.csv", "--resume", "s.npz", "--epochs", "0", "-o", "t.onnx"])
            .expect(0);
        std::fs::remove_file(folder.path("s.npz")).unwrap();
        std::fs::remove_file(folder.path("t.onnx")).unwrap();
    }
    assert!(!folder.path("never.onnx").exists());
}

#[test]
fn data_that_does_not_fit_is_refused() {
    let folder = folder();
    folder.write("half.csv", b"x.0,x.1\n1,2\n");
    folder.write("wide.csv", b"x.0,x.1,x.2,target\n1,2,3,4\n");
    folder.write("sound.onnxtxt", crate::SOUND.as_bytes());
    let train = |file: &str, data: &str, more: &[&str]| {
        let arguments = ["train", file, "-i", data, "-o", "out.onnx"];
        folder.run(&[&arguments[..], more].concat())
    };
    assert!(train("m.onnxtxt", "half.csv", &[]).expect(1).said().contains("no array for input `target`"));
    assert!(train("m.onnxtxt", "wide.csv", &[]).expect(2).said().contains("3 columns"));
    assert!(train("sound.onnxtxt", "d.csv", &[]).expect(1).said().contains("no training algorithm"));
    assert!(train("m.onnxtxt", "d.csv", &["--log", "los"]).expect(2).said().contains("did you mean `loss`"));
    train("m.onnxtxt", "d.csv", &["--batch", "0"]).expect(2);
    train("m.onnxtxt", "nowhere.npz", &[]).expect(2);
    folder.run(&["train", "m.onnxtxt", "-i", "d.csv"]).expect(2);
    folder.write("fast.onnxtxt", LINEAR.replace("rate = {0.05}", "rate = {1e20}").as_bytes());
    let diverged = train("fast.onnxtxt", "d.csv", &["--steps", "50"]).expect(1);
    assert!(
        diverged.said().contains("E1603") && diverged.said().contains("lower the learning rate"),
        "{}",
        diverged.said()
    );
    assert!(!folder.path("out.onnx").exists());
}

const NETWORK: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N,2] x) => (float[N,3] p)
<float[2,8] w1 = {0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8, 0.8, 0.7, -0.6, 0.5, 0.4, -0.3, 0.2, 0.1}, float[8] b1 = {0, 0, 0, 0, 0, 0, 0, 0},
 float[8,3] w2 = {0.1, 0.2, -0.3, 0.4, -0.5, 0.6, 0.7, -0.8, 0.1, 0.2, 0.3, -0.4, 0.5, 0.6, 0.7, -0.1, 0.2, 0.3, 0.4, -0.5, 0.6, 0.7, 0.8, -0.9}>
{
   h = Gemm(x, w1, b1)
   r = Relu(h) # active
   s = MatMul(r, w2)
   p = Softmax(s)
}
";

#[test]
fn an_inference_model_becomes_trainable_with_every_optimizer() {
    let folder = Folder::new(&[("m.onnxtxt", NETWORK.as_bytes())]);
    let mut text = "x.0,x.1,label\n".to_owned();
    for i in 0..60usize {
        let (a, b) = ((i * 7 % 11) as f64 / 5.0 - 1.0, (i * 5 % 13) as f64 / 6.0 - 1.0);
        text += &format!(
            "{a},{b},{}\n",
            if a > 0.2 {
                0
            } else if b > 0.0 {
                1
            } else {
                2
            }
        );
    }
    folder.write("d.csv", text.as_bytes());
    for optimizer in ["sgd,lr=0.5", "momentum,lr=0.1,nesterov", "adagrad,lr=0.2", "adam,lr=0.05"] {
        let arguments = [
            "trainable",
            "m.onnxtxt",
            "--loss",
            "SoftmaxCrossEntropyLoss",
            "--optimizer",
            optimizer,
            "-o",
            "t.onnxtxt",
        ];
        let done = folder.run(&arguments).expect(0);
        assert!(done.stderr.contains("3 weights trained"), "{}", done.stderr);
        let made = String::from_utf8(folder.read("t.onnxtxt")).unwrap();
        assert!(made.contains("# active"), "{made}");
        folder.run(&["check", "t.onnxtxt"]).expect(0);
        let train = |steps: &str, out: &str| {
            let arguments =
                ["train", "t.onnxtxt", "--init", "--seed", "3", "-i", "d.csv", "--steps", steps, "-o", out];
            result(&folder.run(&[&arguments[..], &["--format", "json"]].concat()).expect(0))
        };
        let (first, last) = (train("1", "f.onnx"), train("150", "u.onnx"));
        let loss = |done: &serde_json::Value| done["last"]["loss"].as_f64().unwrap();
        assert!(loss(&last) < 0.6 * loss(&first), "{optimizer}: {first} {last}");
        assert!(last["last"]["accuracy"].as_f64().unwrap() > 0.8, "{last}");
        // Its results depend on the weights alone.
        folder.run(&["train", "t.onnxtxt", "-i", "d.csv", "--steps", "0", "-o", "same.onnx"]).expect(0);
        folder.run(&["compare", "m.onnxtxt", "same.onnx", "-D", "N=3"]).expect(0);
        for file in ["t.onnxtxt", "u.onnx", "f.onnx", "same.onnx"] {
            std::fs::remove_file(folder.path(file)).unwrap();
        }
    }
}

#[test]
fn weights_can_be_frozen_and_losses_must_fit() {
    let folder = Folder::new(&[("m.onnxtxt", NETWORK.as_bytes())]);
    let make = |more: &[&str]| {
        let arguments = ["trainable", "m.onnxtxt", "--optimizer", "sgd", "-o", "t.onnxtxt", "--loss"];
        folder.run(&[&arguments[..], more].concat())
    };
    let done = make(&["MeanSquaredError", "--freeze", "/w*/"]).expect(0);
    assert!(done.stderr.contains("1 weight trained"), "{}", done.stderr);
    for loss in
        ["MeanAbsoluteError", "BinaryCrossEntropy", "NegativeLogLikelihoodLoss", "softmaxcrossentropyloss"]
    {
        make(&[loss, "--init", "xavier"]).expect(0);
        folder.run(&["check", "t.onnxtxt"]).expect(0);
    }
    let refused = make(&["MeanSquaredError", "--freeze", "/?*/"]).expect(1);
    assert!(
        refused.said().contains("E1520") && refused.said().contains("no weight is left"),
        "{}",
        refused.said()
    );
    assert!(make(&["MeanSquaredError", "--output-name", "q"]).expect(1).said().contains("no output `q`"));
    let arguments =
        ["trainable", "t.onnxtxt", "--optimizer", "sgd", "--loss", "MeanSquaredError", "-o", "again.onnx"];
    assert!(folder.run(&arguments).expect(1).said().contains("has a training already"));
    let arguments =
        ["trainable", "m.onnxtxt", "--optimizer", "adamw", "--loss", "MeanSquaredError", "-o", "again.onnx"];
    folder.run(&arguments).expect(2);
}

#[test]
fn the_example_learns_digits() {
    let folder = Folder::new(&[]);
    let (model, data, test) =
        (example("train-digits.onnxtxt"), example("digits-train.npz"), example("digits-test.npz"));
    let train = |steps: &str| {
        let arguments = [
            "train",
            &model,
            "--init",
            "-i",
            &data,
            "--eval",
            &test,
            "--batch",
            "50",
            "--shuffle",
            "--steps",
            steps,
            "-o",
            &format!("{steps}.onnx"),
            "--format",
            "json",
        ];
        result(&folder.run(&arguments).expect(0))
    };
    let (first, last) = (train("1"), train("30"));
    let loss = |done: &serde_json::Value| done["eval"]["loss"].as_f64().unwrap();
    assert!(loss(&first) > 1.5 && loss(&last) < 0.7 * loss(&first), "{first} {last}");
    let digit = format!("image={}", example("digit.npy"));
    folder.run(&["run", "30.onnx", "-i", &digit]).expect(0);
}

/// The numbers of the first and last of some steps of an example.
fn learned(model: &str, data: &str, batch: &str, steps: &str, more: &[&str]) -> (f64, f64) {
    let folder = Folder::new(&[]);
    let (model, data) = (example(model), example(data));
    let arguments = ["train", &model, "--init", "--seed", "1", "-i", &data, "--batch", batch, "--shuffle"];
    let own = ["--steps", steps, "--history", "h.csv", "--history", "h.svg", "-o", "t.onnx"];
    folder.run(&[&arguments[..], &own, more].concat()).expect(0);
    let table = String::from_utf8(folder.read("h.csv")).unwrap();
    let losses: Vec<f64> =
        table.lines().skip(1).map(|row| row.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert_eq!(losses.len(), steps.parse::<usize>().unwrap(), "{table}");
    let picture = String::from_utf8(folder.read("h.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains(">loss</text>"), "{picture}");
    (losses[0], *losses.last().unwrap())
}

#[test]
fn the_convolutional_network_learns() {
    let test = example("digits-test.npz");
    let (first, last) = learned("train-convnet.onnxtxt", "digits-train.npz", "32", "24", &["--eval", &test]);
    assert!(last < 0.6 * first, "{first} {last}");
}

#[test]
fn the_transformer_learns() {
    let (first, last) = learned("train-transformer.onnxtxt", "sonnets.npz", "4", "12", &[]);
    assert!(last < 0.8 * first, "{first} {last}");
    // Computed again, it is the same.
    let again = learned("train-transformer.onnxtxt", "sonnets.npz", "4", "12", &["--recompute"]);
    assert_eq!((first, last), again);
}

#[test]
fn the_recurrent_network_learns() {
    let (first, last) = learned("train-lstm.onnxtxt", "sonnets.npz", "4", "16", &[]);
    assert!(last < 0.85 * first, "{first} {last}");
}

#[test]
fn histories_are_tables_and_pictures() {
    let folder = folder();
    let run = |more: &[&str]| {
        let arguments =
            ["train", "m.onnxtxt", "-i", "d.csv", "--eval", "d.csv", "--batch", "8", "-o", "t.onnx"];
        folder.run(&[&arguments[..], more].concat())
    };
    run(&["--epochs", "2", "--history", "h.csv", "--history", "h.svg"]).expect(0);
    let table = String::from_utf8(folder.read("h.csv")).unwrap();
    assert!(table.starts_with("step,epoch,loss,eval.loss\n1,1,") && table.lines().count() == 11, "{table}");
    assert!(table.lines().nth(5).unwrap().split(',').all(|field| !field.is_empty()), "{table}");
    let picture = String::from_utf8(folder.read("h.svg")).unwrap();
    assert_eq!(picture.matches("<circle").count(), 2, "{picture}");
    assert!(
        run(&["--history", "h.png"]).expect(2).said().contains("expected a name that ends in .csv or .svg")
    );
    // A training that diverges leaves its curve.
    folder.write("fast.onnxtxt", LINEAR.replace("rate = {0.05}", "rate = {1e5}").as_bytes());
    let diverged =
        ["train", "fast.onnxtxt", "-i", "d.csv", "--steps", "50", "--history", "f.csv", "-o", "x.onnx"];
    folder.run(&diverged).expect(1);
    assert!(String::from_utf8(folder.read("f.csv")).unwrap().lines().count() > 2);
}

#[test]
fn a_model_can_be_made_trainable_with_less_memory() {
    let layers = 9;
    let weights: Vec<String> =
        (0..layers).map(|i| format!("float[2,2] w{i} = {{0.9, -0.{i}, 0.3, 0.8}}")).collect();
    let nodes: Vec<String> =
        (0..layers).map(|i| format!("p{i} = MatMul(h{i}, w{i})\nh{} = Tanh(p{i})", i + 1)).collect();
    let (weights, nodes) = (weights.join(", "), nodes.join("\n"));
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[N,2] h0) => (float[N,2] y) <{weights}> {{ {nodes}\ny = Identity(h{layers}) }}"
    );
    let data = "h0.0,h0.1,label.0,label.1\n0.1,0.2,0.3,0.4\n-0.5,0.2,0.1,0.7\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes()), ("d.csv", data.as_bytes())]);
    let made = |out: &str, more: &[&str]| {
        let arguments = ["trainable", "m.onnxtxt", "--loss", "MeanSquaredError", "--optimizer", "adam"];
        folder.run(&[&arguments[..], &["-o", out], more].concat()).expect(0);
        folder.run(&["check", out]).expect(0);
        String::from_utf8(folder.read(out)).unwrap()
    };
    let (kept, again) = (made("kept.onnxtxt", &[]), made("again.onnxtxt", &["--recompute"]));
    assert!(kept.contains("Gradient <") && !kept.contains("onnxtxt.recomputed"), "{kept}");
    assert!(!again.contains("Gradient <") && again.contains("onnxtxt.recomputed"), "{again}");
    for (file, out) in [("kept.onnxtxt", "a.npz"), ("again.onnxtxt", "b.npz")] {
        folder.run(&["train", file, "-i", "d.csv", "--steps", "3", "-o", out]).expect(0);
    }
    assert!(folder.read("a.npz") == folder.read("b.npz"));
}

#[test]
fn expanded_gradients_can_compute_again() {
    let folder = Folder::new(&[]);
    let model = example("train-transformer.onnxtxt");
    folder.run(&["pass", "expand-gradient", &model, "-o", "kept.onnxtxt"]).expect(0);
    folder.run(&["pass", "expand-gradient-recompute", &model, "-o", "again.onnxtxt"]).expect(0);
    let again = String::from_utf8(folder.read("again.onnxtxt")).unwrap();
    assert!(again.contains("onnxtxt.recomputed") && again.contains("_again"), "{again}");
    folder.run(&["check", "again.onnxtxt"]).expect(0);
    // Merging equal nodes does not undo it.
    folder.run(&["pass", "common-subexpressions", "again.onnxtxt", "-o", "merged.onnxtxt"]).expect(0);
    let merged = String::from_utf8(folder.read("merged.onnxtxt")).unwrap();
    assert_eq!(merged.matches("onnxtxt.recomputed").count(), again.matches("onnxtxt.recomputed").count());
    let data = example("sonnets.npz");
    for (file, out) in [("kept.onnxtxt", "a.npz"), ("again.onnxtxt", "b.npz")] {
        let arguments = ["train", file, "--init", "-i", &data, "--batch", "4", "--steps", "3", "-o", out];
        folder.run(&arguments).expect(0);
    }
    assert!(folder.read("a.npz") == folder.read("b.npz"));
}

/// Two algorithms that count, and two initializations of which the second doubles what the first has set.
const TWO: &str = "<
   ir_version: 10,
   opset_import: [\"\": 21],
   training_info: {
      initialization: first () => (float[1] a0) { a0 = Constant <value = float[1] {3}> () },
      initialization_binding: [\"a\": \"a0\"],
      algorithm: slow () => (float[1] a1) { a1 = Add(a, one) },
      update_binding: [\"a\": \"a1\"]
   },
   training_info: {
      initialization: second () => (float[1] a0, float[1] b0) { s = Add(a, a) a0 = Add(s, one) b0 = Identity(b) },
      initialization_binding: [\"a\": \"a0\", \"b\": \"b0\"],
      algorithm: fast () => (float[1] b1) <float[1] b = {5}> { b1 = Add(b, one) },
      update_binding: [\"b\": \"b1\"]
   }
>
g (float[1] x) => (float[1] y)
<float[1] a = {0}, float[1] one = {1}>
{
   y = Add(x, a)
}
";

#[test]
fn initializations_read_what_those_before_them_have_set() {
    let folder = Folder::new(&[("m.onnxtxt", TWO.as_bytes())]);
    folder.run(&["check", "m.onnxtxt"]).expect(0);
    folder.run(&["train", "--init", "m.onnxtxt", "-o", "i.onnxtxt"]).expect(0);
    let text = String::from_utf8(folder.read("i.onnxtxt")).unwrap();
    assert!(text.contains("a = {7}") && text.contains("b = {5}"), "{text}");
}

#[test]
fn one_of_several_algorithms_is_chosen() {
    let folder = Folder::new(&[("m.onnxtxt", TWO.as_bytes()), ("x.csv", b"x\n1\n")]);
    for (chosen, a, b) in [(None, 2, 7), (Some("slow"), 2, 5), (Some("fast"), 0, 7), (Some("#2"), 0, 7)] {
        let mut command = vec!["train", "m.onnxtxt", "-i", "x.csv", "--steps", "2", "-o", "t.onnxtxt"];
        command.extend(chosen.iter().flat_map(|name| ["--algorithm", name]));
        folder.run(&command).expect(0);
        let text = String::from_utf8(folder.read("t.onnxtxt")).unwrap();
        let (a, b) = (format!("a = {{{a}}}"), format!("b = {{{b}}}"));
        assert!(text.contains(&a) && text.contains(&b), "{chosen:?}: {text}");
    }
    for (unknown, message) in [("other", "they are slow, fast"), ("#3", "and no #3"), ("#0", "and no #0")] {
        let refused =
            folder.run(&["train", "m.onnxtxt", "--algorithm", unknown, "--steps", "1", "-o", "t.onnxtxt"]);
        let refused = refused.expect(2);
        assert!(refused.stderr.contains(message), "{}", refused.stderr);
    }
}

#[test]
fn info_shows_trainings_and_the_header() {
    let folder = Folder::new(&[("m.onnxtxt", TWO.as_bytes())]);
    let described = ["set-metadata", "m.onnxtxt", "--domain", "com.acme", "--doc", "Counts.", "author=me"];
    folder.run(&[&described[..], &["-o", "d.onnxtxt"]].concat()).expect(0);
    let info = folder.run(&["info", "d.onnxtxt"]).expect(0);
    for shown in
        ["com.acme", "Counts.", "author: me", "algorithm `slow`, initialization `first`, updates 1 value"]
    {
        assert!(info.text().contains(shown), "{shown}: {}", info.text());
    }
    let json = result(&folder.run(&["info", "--format", "json", "d.onnxtxt"]).expect(0));
    assert_eq!(json["metadata"]["author"], "me");
    assert_eq!(json["training"][1]["algorithm"], "fast");
}

/// The state that is read is replaced, and files that are new then may get its numbers.
#[test]
fn a_training_that_goes_on_from_its_own_state_writes_all_its_files() {
    // Which numbers are free depends on the number of steps.
    for batch in ["8", "10"] {
        let folder = folder();
        let common = ["train", "m.onnxtxt", "-i", "d.csv", "--batch", batch, "--save", "every=1"];
        let run = |more: &[&str]| folder.run(&[&common[..], more].concat());
        run(&["--epochs", "4", "-o", "whole.onnx", "--state", "whole.npz"]).expect(0);
        run(&["--epochs", "1", "-o", "out.onnx", "--state", "s.npz"]).expect(0);
        for epochs in ["2", "3", "4"] {
            let resumed = ["--epochs", epochs, "-o", "out.onnx", "--state", "s.npz", "--resume", "s.npz"];
            let csv = format!("h{epochs}.csv");
            run(&[&resumed[..], &["--history", &csv, "--history", "h.svg"]].concat()).expect(0);
            assert!(String::from_utf8(folder.read(&csv)).unwrap().lines().count() > 4);
            std::fs::remove_file(folder.path("h.svg")).unwrap();
        }
        assert!(folder.read("out.onnx") == folder.read("whole.onnx"));
        assert!(folder.read("s.npz") == folder.read("whole.npz"));
    }
}

/// Files that cannot be written at the end are reported at the beginning, and data is not replaced.
#[test]
fn files_that_cannot_be_written_end_a_training_before_it_begins() {
    let folder = folder();
    folder.run(&["train", "m.onnxtxt", "-i", "d.csv", "--save", "every=1", "-o", "first.onnx"]).expect(0);
    folder.write("data.npz", &folder.read("first.state.npz"));
    std::fs::create_dir(folder.path("folder.onnx")).unwrap();
    std::fs::create_dir(folder.path("folder.csv")).unwrap();
    for (more, why) in [
        (&["-o", "no/folder/out.onnx"][..], "cannot write"),
        (&["-o", "folder.onnx"], "is a folder"),
        (&["-o", "no/folder/out.npz"], "cannot write"),
        (&["-o", "out.onnx", "--history", "folder.csv"], "is a folder"),
        (&["-o", "out.onnx", "--save", "every=1", "--state", "no/folder/s.npz"], "cannot write"),
        (
            &["-o", "out.onnx", "--save", "every=1", "--state", "data.npz", "-i", "data.npz"],
            "is read by this command",
        ),
    ] {
        let endless = [&["train", "m.onnxtxt", "-i", "d.csv", "--epochs", "1000000000"][..], more].concat();
        let done = folder.run(&endless).expect(2);
        assert!(done.stderr.contains(why), "{more:?}: {}", done.stderr);
    }
    assert_eq!(folder.read("data.npz"), folder.read("first.state.npz"));
    assert!(!folder.path("out.onnx").exists());
}

/// Weights are infinite although the loss of the step is not.
#[test]
fn a_state_that_is_not_finite_ends_a_training_and_the_last_good_one_stays() {
    let folder = folder();
    let rate = |rate: &str| LINEAR.replace("rate = {0.05}", &format!("rate = {{{rate}}}"));
    folder.write("fast.onnxtxt", rate("3e38").as_bytes());
    folder.write("nan.csv", b"x.0,x.1,target\nnan,1,1\n");
    folder.write("out.onnx", b"old");
    let common = ["--save", "every=1", "--state", "s.npz", "-o", "out.onnx", "--format", "short"];
    for (file, data, what) in [("fast.onnxtxt", "d.csv", "infinite"), ("m.onnxtxt", "nan.csv", "NaN")] {
        let train = [&["train", file, "-i", data][..], &common].concat();
        let done = folder.run(&train).expect(1);
        let said = format!("error[E1603]: `w` becomes {what} in step 1: the training diverges");
        assert!(done.said().contains(&said), "{}", done.said());
        // The state before the step, from which a training can continue.
        assert_eq!(folder.read("out.onnx"), b"old");
        folder
            .run(&["train", "m.onnxtxt", "-i", data, "--resume", "s.npz", "--epochs", "0", "-o", "t.onnxtxt"])
            .expect(0);
        assert!(String::from_utf8(folder.read("t.onnxtxt")).unwrap().contains("float[2,1] w = {0, 0}"));
        std::fs::remove_file(folder.path("s.npz")).unwrap();
    }
    // A state that was saved on the way stays.
    folder
        .run(&["train", "m.onnxtxt", "-i", "d.csv", "--save", "every=1", "--state", "s.npz", "-o", "t.onnx"])
        .expect(0);
    let saved = folder.read("s.npz");
    let train =
        ["train", "fast.onnxtxt", "-i", "d.csv", "--resume", "s.npz", "--epochs", "2", "-o", "t.onnx"];
    for more in [&[][..], &["--save", "every=1", "--state", "s.npz"]] {
        folder.run(&[&train[..], more].concat()).expect(1);
        assert_eq!(folder.read("s.npz"), saved);
    }
}

/// The nodes that `trainable` adds are not in the text of the model: the finding is about the node that is.
#[test]
fn what_cannot_be_differentiated_is_found_in_the_model() {
    let text = "<ir_version: 10, opset_import: [\"\": 21, \"d\": 1]>
g (float[2,3] x) => (float[2,4] y) <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {
    a = MatMul(x, w)
    y = d.Foo(a)
}
";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes()), ("m.onnx", &binary(text))]);
    for (file, more) in [("m.onnxtxt", &[][..]), ("m.onnx", &[]), ("m.onnxtxt", &["--recompute"])] {
        let command =
            ["trainable", file, "--loss", "MeanSquaredError", "--optimizer", "sgd", "-o", "t.onnxtxt"];
        let done = folder.run(&[&command[..], more].concat()).expect(1);
        assert!(done.stderr.contains("operator `Foo` is unknown"), "{}", done.stderr);
        assert!(done.stderr.contains("y = d.Foo(a)"), "{}", done.stderr);
    }
}
