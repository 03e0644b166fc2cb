//! Trainings that are small enough to be followed by hand.

use super::*;
use onnx_exec::{RunOptions, Tensor, Value};

/// A model with trainings, initializers and nodes of the main graph.
fn model(trainings: &str, initializers: &str) -> crate::Loaded {
    let loaded = crate::parse(&format!(
        "<ir_version: 10, opset_import: [\"\": 21, \"ai.onnx.preview.training\": 1], {trainings}>
         g (float x) => (float y) <{initializers}> {{ t = Mul(x, a) y = Add(t, b) }}"
    ));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    loaded
}

fn trainer(loaded: &crate::Loaded, seed: u64) -> Trainer<'static> {
    let run = RunOptions { seed, threads: 1, ..RunOptions::default() };
    Trainer::new(&loaded.model, loaded.registry(), &TrainOptions { run, ..TrainOptions::default() }).unwrap()
}

fn number(x: f32) -> Value {
    Tensor::scalar(x).unwrap().into()
}

fn variables(trainer: &Trainer<'_>, names: [&str; 2]) -> [f32; 2] {
    names.map(|name| trainer.variable(name).unwrap().slice::<f32>().unwrap()[0])
}

#[test]
fn bindings_are_applied_at_once_and_trainings_one_after_the_other() {
    let swap =
        "training_info: {algorithm: s () => (float a1, float b1) { a1 = Identity(b) b1 = Identity(a) },
        update_binding: [\"a\": \"a1\", \"b\": \"b1\"]}";
    let loaded = model(swap, "float a = {1}, float b = {2}");
    let mut one = trainer(&loaded, 0);
    let outputs = one.step(&[("x", number(3.0))]).unwrap();
    assert_eq!((variables(&one, ["a", "b"]), one.steps()), ([2.0, 1.0], 1));
    // The outputs are those of before the update.
    assert_eq!(outputs, [("y".to_owned(), number(5.0))]);
    assert_eq!(one.infer(&[("x", number(3.0))]).unwrap(), [("y".to_owned(), number(7.0))]);

    let two =
        "training_info: {algorithm: s () => (float a1) { a1 = Add(a, b) }, update_binding: [\"a\": \"a1\"]},
        training_info: {algorithm: t () => (float b1) { b1 = Add(a, b) }, update_binding: [\"b\": \"b1\"]}";
    let loaded = model(two, "float a = {1}, float b = {2}");
    let mut two = trainer(&loaded, 0);
    two.step(&[("x", number(0.0))]).unwrap();
    assert_eq!(variables(&two, ["a", "b"]), [3.0, 5.0]);
    two.initialize().unwrap();
    assert_eq!((variables(&two, ["a", "b"]), two.steps()), ([1.0, 2.0], 0));
}

#[test]
fn random_numbers_follow_from_the_seed_and_the_step() {
    let noise = "training_info: {
        initialization: i () => (float a0) { a0 = RandomNormal <shape = []> () },
        algorithm: s () => (float a1) { r = RandomUniformLike(a) a1 = Add(a, r) },
        initialization_binding: [\"a\": \"a0\"], update_binding: [\"a\": \"a1\"]}";
    let noise = noise.replace("shape = []", "shape : ints = []");
    let loaded = model(&noise, "float a = {1}, float b = {2}");
    let run = |seed: u64, steps: usize| {
        let mut trainer = trainer(&loaded, seed);
        trainer.initialize().unwrap();
        (0..steps).for_each(|_| _ = trainer.step(&[("x", number(0.0))]).unwrap());
        trainer
    };
    let state = run(1, 2).state();
    assert_eq!(state, run(1, 2).state());
    assert_ne!(state, run(2, 2).state());
    // A state that was loaded continues like the one that was saved.
    let (mut first, mut other) = (run(1, 2), trainer(&loaded, 1));
    other.load_state(&state).unwrap();
    for trainer in [&mut first, &mut other] {
        trainer.step(&[("x", number(0.0))]).unwrap();
    }
    assert_eq!(first.state(), other.state());
    let again = crate::Loaded::from(first.into_model().unwrap());
    assert_eq!(trainer(&again, 1).state().variables, other.state().variables);
}

#[test]
fn mistakes_are_findings() {
    let step = "training_info: {algorithm: s (float goal) => (float a1) { a1 = Sub(a, goal) }, update_binding: [\"a\": \"a1\"]}";
    let loaded = model(step, "float a = {1}, float b = {2}");
    let mut good = trainer(&loaded, 0);
    let before = good.state();
    assert!(good.step(&[("x", number(1.0))]).unwrap_err().message.contains("input `goal` is not given"));
    let typo = good.step(&[("x", number(1.0)), ("tt", number(1.0))]).unwrap_err();
    assert_eq!(typo.message, "the training has no input `tt`");
    assert_eq!(good.state(), before);
    let other = State { step: 1, variables: vec![("b".to_owned(), Tensor::scalar(1.0f32).unwrap())] };
    assert_eq!(good.load_state(&other).unwrap_err().len(), 2);
    let other = State { step: 1, variables: vec![("a".to_owned(), Tensor::scalar(1.0f64).unwrap())] };
    assert!(
        good.load_state(&other).unwrap_err()[0]
            .message
            .contains("`a` is float, but the saved state has double")
    );
    for text in [
        "domain: \"none\"",
        "training_info: {algorithm: s () => (float a1) { a1 = Neg(a) }, update_binding: [\"ghost\": \"a1\"]}",
        "training_info: {algorithm: s () => (float a1) { a1 = Nothing(a) }, update_binding: [\"a\": \"a1\"]}",
    ] {
        let loaded = model(text, "float a = {1}, float b = {2}");
        let options = TrainOptions::default();
        assert!(Trainer::new(&loaded.model, loaded.registry(), &options).is_err(), "{text}");
    }
}

#[test]
fn a_state_that_begins_at_zero_is_not_constant() {
    let training = "training_info: {algorithm: s () => (float a1, float b1) { t = Sub(a, b) a1 = Mul(t, t) b1 = Identity(a) },
        update_binding: [\"a\": \"a1\", \"b\": \"b1\"]}";
    let loaded = model(training, "float a = {3}, float b = {0}");
    let mut joined = onnx_ir::pass::join_training(&loaded.model, 0).unwrap();
    onnx_ops::pass::remove_no_ops(&mut joined.model, loaded.registry());
    let root = joined.model.bodies[joined.body].root().unwrap();
    let nodes = &joined.model.bodies[joined.body].graphs[root].nodes;
    let ops = nodes.iter().map(|&node| joined.model.text(joined.model.bodies[joined.body].nodes[node].op));
    assert!(ops.clone().any(|op| op == "Sub"), "{:?}", ops.collect::<Vec<_>>());
}

/// Compiles only if the types can be shared with other threads and moved there.
#[test]
fn trainings_and_models_belong_to_no_thread() {
    fn is_free<T: Send + Sync>() {}
    is_free::<onnx_ir::Model>();
    is_free::<crate::Loaded>();
    is_free::<onnx_exec::Executable<'_>>();
    is_free::<RunOptions<'_>>();
    is_free::<Trainer<'_>>();
    is_free::<Batches>();
    let training =
        "training_info: {algorithm: s () => (float a1) { a1 = Add(a, b) }, update_binding: [\"a\": \"a1\"]}";
    let mut moved = trainer(&model(training, "float a = {1}, float b = {2}"), 0);
    let thread = std::thread::spawn(move || {
        moved.step(&[("x", number(0.0))]).unwrap();
        moved
    });
    assert_eq!(thread.join().unwrap().variable("a").unwrap().slice::<f32>().unwrap(), [3.0]);
}
