//! Steps of every optimizer against the formulas of the operators' documentation, in double precision and by hand: 20 steps of a
//! linear model with a mean of squares, whose gradient is `2 xᵀ(xw - t) / n`.

use conformance::random::Random;
use onnx_exec::{RunOptions, Tensor};
use onnxtxt::train::{Loss, Optimizer, OptimizerKind, TrainOptions, Trainable, Trainer, trainable};

/// Examples, inputs, outputs.
const SIZES: [usize; 3] = [12, 4, 3];
const STEPS: usize = 20;
/// How far a weight may be from the formulas.
const TOLERANCE: f64 = 1e-4;

/// The state that an optimizer keeps for a weight.
#[derive(Clone, Default)]
struct Kept {
    mean: f64,
    squares: f64,
}

/// A step of an optimizer, from its documentation.
fn step(optimizer: &Optimizer, x: f64, gradient: f64, kept: &mut Kept, t: f64) -> f64 {
    let (rate, norm) = (f64::from(optimizer.rate), f64::from(optimizer.norm));
    let (alpha, beta, epsilon) =
        (f64::from(optimizer.alpha), f64::from(optimizer.beta), f64::from(optimizer.epsilon));
    let g = norm * x + gradient;
    match optimizer.kind {
        OptimizerKind::Sgd => x - rate * g,
        OptimizerKind::Momentum => {
            let beta = if t > 0.0 { beta } else { 1.0 };
            kept.mean = alpha * kept.mean + beta * g;
            if optimizer.nesterov { x - rate * (g + alpha * kept.mean) } else { x - rate * kept.mean }
        }
        OptimizerKind::Adagrad => {
            let r = rate / (1.0 + t * f64::from(optimizer.decay));
            kept.squares += g * g;
            x - r * g / (kept.squares.sqrt() + epsilon)
        }
        OptimizerKind::Adam => {
            // The count includes the step that is made.
            let t = t + 1.0;
            kept.mean = alpha * kept.mean + (1.0 - alpha) * g;
            kept.squares = beta * kept.squares + (1.0 - beta) * g * g;
            let adjusted = rate * (1.0 - beta.powf(t)).sqrt() / (1.0 - alpha.powf(t));
            x - adjusted * kept.mean / (kept.squares.sqrt() + epsilon)
        }
    }
}

/// The product of matrices.
fn product(a: &[f64], b: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<f64> {
    let element = |row: usize, column: usize| {
        (0..inner).map(|k| a[row * inner + k] * b[k * columns + column]).sum::<f64>()
    };
    (0..rows * columns).map(|i| element(i / columns, i % columns)).collect()
}

fn transposed(a: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..rows * columns).map(|i| a[i % rows * columns + i / rows]).collect()
}

#[test]
fn steps_are_those_of_the_formulas() {
    let [n, inputs, outputs] = SIZES;
    for text in [
        "sgd,lr=0.1",
        "sgd,lr=0.1,norm=0.05",
        "momentum,lr=0.05,alpha=0.8,beta=0.9",
        "momentum,lr=0.05,norm=0.01,nesterov",
        "adagrad,lr=0.3",
        "adagrad,lr=0.3,decay=0.1,norm=0.02,epsilon=0.001",
        "adam,lr=0.05",
        "adam,lr=0.05,alpha=0.8,beta=0.9,epsilon=0.001,norm=0.02",
    ] {
        let optimizer: Optimizer = text.parse().expect("the settings are known");
        let mut random = Random::new(text.len() as u64);
        // Numbers that single precision has.
        let mut draw = |count: usize| -> Vec<f64> {
            (0..count).map(|_| f64::from((random.below(2000) as f32 - 1000.0) / 500.0)).collect()
        };
        let (x, target, mut w) = (draw(n * inputs), draw(n * outputs), draw(inputs * outputs));
        let list = w.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
        let model = onnx_text::read_model(&format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
             g (float[N,{inputs}] x) => (float[N,{outputs}] y) <float[{inputs},{outputs}] w = {{{list}}}> {{ y = MatMul(x, w) }}"
        ));
        assert!(model.diagnostics.is_empty(), "{:?}", model.diagnostics);
        let mut model = model.value;
        let registry = onnx_ops::schema::Registry::builtin();
        let options = Trainable {
            loss: Loss::MeanSquaredError,
            optimizer,
            output: None,
            label: "target".to_owned(),
            initial: None,
            is_frozen: &|_| false,
            gradient_results: onnx_ops::gradient::Results::Kept,
        };
        trainable(&mut model, registry, &options).expect("the model is trainable");
        let options = TrainOptions {
            run: RunOptions { threads: 1, ..RunOptions::default() },
            ..TrainOptions::default()
        };
        let mut trainer = Trainer::new(&model, registry, &options).expect("the training can be run");
        let tensor = |numbers: &[f64], width: usize| {
            Tensor::of_floats(onnx_ir::ElemType::FLOAT, &[numbers.len() / width, width], numbers)
                .expect("floats")
        };
        let given = [("x", tensor(&x, inputs).into()), ("target", tensor(&target, outputs).into())];
        let mut kept = vec![Kept::default(); w.len()];
        for t in 0..STEPS {
            let y = product(&x, &w, SIZES);
            let errors: Vec<f64> = y.iter().zip(&target).map(|(y, target)| y - target).collect();
            let loss = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
            let sums = product(&transposed(&x, n, inputs), &errors, [inputs, n, outputs]);
            for ((w, sum), kept) in w.iter_mut().zip(&sums).zip(&mut kept) {
                *w = step(&optimizer, *w, 2.0 * sum / errors.len() as f64, kept, t as f64);
            }
            let results = trainer.step(&given).expect("a step");
            let (_, value) = results.iter().find(|(name, _)| name == "loss").expect("a loss");
            let ours = value.tensor().expect("a tensor").floats().expect("floats")[0];
            assert!(
                (ours - loss).abs() <= TOLERANCE * loss.max(1.0),
                "{text}, step {t}: loss {ours}, not {loss}"
            );
            let ours = trainer.variable("w").expect("a weight").floats().expect("floats");
            for (ours, w) in ours.iter().zip(&w) {
                assert!(
                    (ours - w).abs() <= TOLERANCE * w.abs().max(1.0),
                    "{text}, step {t}: {ours}, not {w}"
                );
            }
        }
        assert_eq!(trainer.steps(), STEPS as u64);
    }
}
