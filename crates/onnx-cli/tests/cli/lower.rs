//! Showing how a model is run.

use crate::{Folder, SOUND};

#[test]
fn schedules_formulas_and_counts_are_shown() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    let lower = |emit: &str| {
        let done = folder.run(&["lower", "m.onnxtxt", "-D", "N=2", "--emit", emit]).expect(0);
        done.text().to_owned()
    };
    assert_eq!(
        lower("schedule"),
        "plan of nodes 0..2 in graph 0\n  reads float[2] x\n  constant float[2] w\n  kernel 0    # Mul+Relu\n    \
         float[2] y[i0] = max(x[i0] * w[i0], 0.0)\n      as loops for nodes 0, 1\n      \
         # for i0 < 2 in strips: f0 = 0; f2 = x[i0]; f3 = w[i0]; f4 = Mul f2 f3; f1 = Max f4 f0\n"
    );
    let formulas = "formulas of nodes 0..2 in graph 0\n  \
                    float[2] t[i0] = x[i0] * w[i0]\n  float[2] y[i0] = max(t[i0], 0.0)\n";
    assert_eq!((lower("formulas"), lower("ir")), (formulas.to_owned(), formulas.to_owned()));
    let fused = "formulas of nodes 0..2 in graph 0\n  float[2] y[i0] = max(x[i0] * w[i0], 0.0)\n";
    assert_eq!((lower("fused"), lower("layout")), (fused.to_owned(), fused.to_owned()));
    let stats = lower("stats");
    for line in ["kernels      1", "other nodes  0", "operations   4", "bytes moved  24", "arena bytes  0"] {
        assert!(stats.lines().any(|shown| shown == line), "{line}: {stats}");
    }
}

#[test]
fn what_cannot_be_lowered_is_told() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    let done = folder.run(&["lower", "m.onnxtxt"]).expect(2);
    assert!(done.stderr.contains("-D N=1"), "{}", done.stderr);
}
