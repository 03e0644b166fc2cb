//! Delta debugging: reduce.

use crate::{Folder, binary};

/// A chain of nodes, of which one is the cause.
fn chain() -> String {
    let nodes: String = (0..24)
        .map(|i| {
            let op = if i == 17 { "Erf" } else { "Abs" };
            format!("    [node_{i}] t{} = {op}(t{i})\n", i + 1)
        })
        .collect();
    format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[4,N] t0) => (float[4,N] t24)\n{{\n{nodes}}}\n"
    )
}

/// A command that fails for models with `Erf`.
fn has_erf() -> String {
    format!("{} print {{}} | grep -q Erf && exit 3; exit 0", env!("CARGO_BIN_EXE_onnxtxt"))
}

#[cfg(unix)]
#[test]
fn the_node_that_fails_is_left() {
    let text = chain();
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes()), ("m.onnx", &binary(&text))]);
    for file in ["m.onnxtxt", "m.onnx"] {
        let done =
            folder.run(&["reduce", file, "-o", "small.onnxtxt", "--", "sh", "-c", &has_erf()]).expect(0);
        assert!(done.stderr.contains("24 nodes, 0 stored elements → 1 node,"), "{}", done.stderr);
        let small = String::from_utf8(folder.read("small.onnxtxt")).unwrap();
        assert!(small.contains("t18 = Erf(t17)") && small.contains("float[1,N] t17"), "{small}");
        assert!(!small.contains("node_"), "{small}");
        folder.run(&["check", "small.onnxtxt"]).expect(0);
        // A second run has the same result, and the input is unchanged.
        folder.run(&["reduce", file, "-o", "again.onnxtxt", "--", "sh", "-c", &has_erf()]).expect(0);
        assert_eq!(folder.read("again.onnxtxt"), small.as_bytes());
    }
    assert_eq!(folder.read("m.onnxtxt"), text.as_bytes());
    assert_eq!(folder.names(), ["again.onnxtxt", "m.onnx", "m.onnxtxt", "small.onnxtxt"]);
}

#[cfg(unix)]
#[test]
fn failures_are_exit_codes_patterns_and_signals() {
    let folder = Folder::new(&[("m.onnxtxt", chain().as_bytes())]);
    let words = |extra: &[&'static str], script: &str| {
        let mut words =
            vec!["reduce", "m.onnxtxt", "-o", "s.onnxtxt"].into_iter().map(str::to_owned).collect::<Vec<_>>();
        words.extend(extra.iter().map(|word| (*word).to_owned()));
        words.extend(["--", "sh", "-c", script].map(str::to_owned));
        words
    };
    let program = env!("CARGO_BIN_EXE_onnxtxt");
    for (extra, script) in [
        (&["--exit", "3"][..], format!("{program} print {{}} | grep -q Erf && exit 3; exit 1")),
        (
            &["--stderr", "found (E|F)rf"],
            format!("{program} print {{}} | grep -q Erf && echo found Erf >&2; true"),
        ),
        (&["--stdout", "Erf"], format!("{program} print {{}}")),
        (&[], format!("{program} print {{}} | grep -q Erf && kill -SEGV $$; exit 1")),
        (&["--timeout", "0.4"], format!("{program} print {{}} | grep -q Erf && exec sleep 60; exit 1")),
    ] {
        let words = words(extra, &script);
        let words: Vec<&str> = words.iter().map(String::as_str).chain([]).collect();
        folder.run(&words).expect(0);
        let small = String::from_utf8(folder.read("s.onnxtxt")).unwrap();
        assert_eq!(small.matches(" = ").count(), 1, "{script}: {small}");
        assert!(small.contains("Erf"), "{script}: {small}");
    }
}

#[cfg(unix)]
#[test]
fn a_limit_leaves_the_best_model_and_a_dry_run_nothing() {
    let folder = Folder::new(&[("m.onnxtxt", chain().as_bytes())]);
    let done = folder
        .run(&["reduce", "m.onnxtxt", "-o", "s.onnxtxt", "--max-runs", "2", "--", "sh", "-c", &has_erf()])
        .expect(0);
    assert!(done.stderr.contains("after 2 runs; --max-runs is reached"), "{}", done.stderr);
    let small = String::from_utf8(folder.read("s.onnxtxt")).unwrap();
    assert!(small.contains("Erf") && small.len() < chain().len(), "{small}");
    let done = folder.run(&["reduce", "m.onnxtxt", "--dry-run", "--", "sh", "-c", &has_erf()]).expect(0);
    assert!(done.text().contains("-    [node_3] t4 = Abs(t3)"), "{}", done.text());
    assert_eq!(folder.names(), ["m.onnxtxt", "s.onnxtxt"]);
}

#[test]
fn what_does_not_fail_is_not_reduced() {
    let folder = Folder::new(&[("m.onnxtxt", chain().as_bytes())]);
    let program = env!("CARGO_BIN_EXE_onnxtxt");
    let done = folder.run(&["reduce", "m.onnxtxt", "-o", "s.onnx", "--", program, "print", "{}"]).expect(2);
    assert!(
        done.stderr.contains("the command does not fail with m.onnxtxt: it exits with 0"),
        "{}",
        done.stderr
    );
    let done = folder.run(&["reduce", "m.onnxtxt", "-o", "s.onnx", "--", program, "print"]).expect(2);
    assert!(done.stderr.contains("the command has no `{}`"), "{}", done.stderr);
    let done = folder.run(&["reduce", "m.onnxtxt", "-o", "s.onnx", "--", "/no/such/program", "{}"]).expect(2);
    assert!(done.stderr.contains("cannot run `/no/such/program`"), "{}", done.stderr);
    folder.run(&["reduce", "m.onnxtxt", "-o", "m.onnxtxt", "--", program, "{}"]).expect(2);
    assert_eq!(folder.names(), ["m.onnxtxt"]);
}

/// A model with weights beside it and an error: candidates may have errors, too.
#[cfg(unix)]
#[test]
fn models_with_errors_and_with_weights_elsewhere_are_reduced() {
    let text = chain().replace("t3 = Abs(t2)", "t3 = Abs(missing)");
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let script = format!("{} check {{}} | grep -q E0203 && exit 1; exit 0", env!("CARGO_BIN_EXE_onnxtxt"));
    folder.run(&["reduce", "m.onnxtxt", "-o", "s.onnxtxt", "--invalid", "--", "sh", "-c", &script]).expect(0);
    let small = String::from_utf8(folder.read("s.onnxtxt")).unwrap();
    assert!(small.contains("Abs(missing)") && small.matches(" = ").count() == 1, "{small}");

    let numbers = vec!["1"; 4096].join(", ");
    let weighty = chain()
        .replace("t24)\n{", &format!("t24)\n<float[4096] w = {{{numbers}}}>\n{{"))
        .replace("float[4,N]", "float[4,4096]")
        .replace("t18 = Erf(t17)", "e = Erf(t17)\n    t18 = Add(e, w)");
    folder.write("w.onnxtxt", weighty.as_bytes());
    folder.run(&["convert", "w.onnxtxt", "-o", "w.onnx", "--weights", "sidecar"]).expect(0);
    assert!(folder.names().contains(&"w.onnx.data".to_owned()));
    folder.run(&["reduce", "w.onnx", "-o", "s.onnx", "--", "sh", "-c", &has_erf()]).expect(0);
    assert!(folder.read("s.onnx").len() < 400, "{}", folder.read("s.onnx").len());
}

/// The command gets copies only, with the weights beside them.
#[cfg(unix)]
#[test]
fn a_command_that_destroys_its_model_does_not_destroy_ours() {
    let folder = Folder::new(&[("w.onnxtxt", crate::weighty(0, 1000).as_bytes())]);
    folder.run(&["convert", "w.onnxtxt", "-o", "m.onnx", "--weights", "sidecar"]).expect(0);
    let files = || (folder.read("m.onnx"), folder.read("m.onnx.data"));
    let before = files();
    let program = env!("CARGO_BIN_EXE_onnxtxt");
    for destroys in ["echo lost >{}; echo lost >{}.data", "rm -f {} {}.data", "mv {} {}.gone"] {
        // The weights are there when the command begins.
        let script = format!("{program} run {{}} --random -D N=2 >/dev/null || exit 9; {destroys}; exit 3");
        let command = ["--", "sh", "-c", &script];
        folder.run(&[&["reduce", "m.onnx", "-o", "small.onnx"][..], &command].concat()).expect(0);
        assert!(files() == before, "reduce: {destroys}");
        folder.run(&["check", "small.onnx"]).expect(0);
        folder.run(&[&["repro", "m.onnx", "-D", "N=2", "-o", "report"][..], &command].concat()).expect(0);
        assert!(files() == before, "repro: {destroys}");
        folder.run(&["run", "report/model.onnx", "-i", "report/inputs.npz"]).expect(0);
        std::fs::remove_dir_all(folder.path("report")).unwrap();
    }
}

/// Programs that a command starts end with it.
#[cfg(unix)]
#[test]
fn programs_that_a_command_starts_end_with_its_time_and_with_ours() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use std::time::{Duration, Instant};
    let folder = Folder::new(&[("m.onnxtxt", chain().as_bytes())]);
    let script = "(sleep 2; touch alive) & touch started; wait; exit 3 # {}";
    let reduce = |more: &[&'static str]| {
        let words = [&["reduce", "m.onnxtxt", "-o", "s.onnxtxt"][..], more, &["--", "sh", "-c", script]];
        words.concat()
    };
    folder.run(&reduce(&["--timeout", "0.3", "--max-runs", "1"])).expect(0);
    assert!(folder.path("started").exists());
    std::fs::remove_file(folder.path("started")).unwrap();
    // A program in the background of a script inherits that SIGINT is ignored, and keeps it so.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        if ignored >> (signal as i32 - 1) & 1 == 1 {
            use std::io::Write as _;
            if let Some(path) = std::env::var_os("ONNXTXT_LEFT_OUT") {
                let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
                writeln!(file.unwrap(), "interrupted commands: {signal} is ignored here").unwrap();
            }
            continue;
        }
        let mut child = folder.start(&reduce(&[]));
        let start = Instant::now();
        while !folder.path("started").exists() {
            assert!(start.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
            std::thread::sleep(Duration::from_millis(5));
        }
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        assert!(!child.wait().unwrap().success());
        std::fs::remove_file(folder.path("started")).unwrap();
    }
    std::thread::sleep(Duration::from_millis(2500));
    assert!(!folder.path("alive").exists());
}
