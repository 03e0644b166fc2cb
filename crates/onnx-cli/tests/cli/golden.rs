//! `onnxtxt test`: golden tests, each directive, and how they fail.

use crate::Folder;

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    g (float[2] x) => (float[2] y)\n{\n    t = Identity(x)\n    y = Add(t, t)\n}\n";

fn with(head: &str) -> String {
    format!("{head}{MODEL}")
}

/// Runs one test, which has to end with this code; what is on stdout.
fn tested(text: &str, code: i32) -> String {
    let folder = Folder::new(&[("a.onnxtxt", text.as_bytes())]);
    folder.run(&["test", "a.onnxtxt"]).expect(code).text().to_owned()
}

#[test]
fn a_model_is_kept_as_it_is_until_it_is_blessed() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx"]).expect(0);
    let printed = folder.run(&["print", "m.onnx"]).expect(0).text().to_owned();
    folder.write("a.onnxtxt", format!("#! print\n{printed}").as_bytes());

    let missing = folder.run(&["test", "."]).expect(1).text().to_owned();
    assert!(missing.contains("missing snapshot") && missing.ends_with("0 passed, 1 failed\n"), "{missing}");
    folder.run(&["test", ".", "--bless"]).expect(0);
    assert!(folder.names().contains(&"a.print.snap".to_owned()), "{:?}", folder.names());
    assert_eq!(folder.run(&["test", "."]).expect(0).text().to_owned(), "1 passed, 0 failed\n");

    folder.write("a.onnxtxt", format!("#! print\n{}", printed.replace("Add", "Mul")).as_bytes());
    let failed = folder.run(&["test", "."]).expect(1).text().to_owned();
    assert!(failed.contains("Add") && failed.contains("Mul"), "{failed}");
    assert!(failed.contains("onnxtxt test ./a.onnxtxt --filter a"), "{failed}");
    folder.run(&["test", ".", "--bless"]).expect(0);
    folder.run(&["test", "."]).expect(0);
}

#[test]
fn outputs_are_compared() {
    let head = "#! run\n#! input float[2] x = {1, 2}\n";
    assert_eq!(tested(&with(&format!("{head}#! expect float[2] y = {{2, 4}}\n")), 0), "1 passed, 0 failed\n");
    let wrong = tested(&with(&format!("{head}#! expect float[2] y = {{2, 5}}\n")), 1);
    assert!(wrong.contains("output `y`: 1 of 2 elements differ"), "{wrong}");
    tested(&with(&format!("{head}#! expect float[2] y = {{2, 5}} rtol=0.5 atol=0\n")), 0);
    let name = tested(&with(&format!("{head}#! expect float[2] z = {{2, 4}}\n")), 1);
    assert!(name.contains("no output `z`; it has y"), "{name}");
    let shape = tested(&with(&format!("{head}#! expect float[1] y = {{2}}\n")), 1);
    assert!(shape.contains("is float[2], but float[1] is expected"), "{shape}");
    let input = tested(&with("#! run\n#! input float[2] q = {1, 2}\n"), 1);
    assert!(input.contains("no input `q`"), "{input}");
    tested(&with("#! run\n"), 0);
}

#[test]
fn passes_are_checked_and_keep_results() {
    let head = "#! pass remove-no-ops\n#! expect same as before the pass\n# CHECK: Add(x, x)\n# CHECK-NOT: Identity\n";
    tested(&with(head), 0);
    let wrong = tested(&with(&head.replace("Add", "Sub")), 1);
    assert!(wrong.contains("`CHECK: Sub(x, x)` is not found"), "{wrong}");
    let none = tested(&with("#! expect same as before the pass\n"), 1);
    assert!(none.contains("needs a directive"), "{none}");
}

#[test]
fn other_directives_and_claims() {
    tested(&with("#! check\n#! roundtrip\n#! infer\n# CHECK: float[2] t\n"), 0);
    tested(&with("#! lower\n# CHECK: plan of nodes\n"), 0);
    let text = with("#! check\n").replace("Add(t, t)", "Add(t, nowhere)");
    let failed = tested(&text, 1);
    assert!(failed.contains("not claimed") && failed.contains("error[E0203]"), "{failed}");
    let claimed =
        text.replace("nowhere)\n", "nowhere)\n#              ^ error[E0203]: use of undefined value\n");
    tested(&claimed, 0);
}

#[test]
fn wrong_directives_are_named() {
    let failed = tested(&with("#! chekc\n"), 1);
    assert!(failed.contains("line 1: unknown directive `chekc`: did you mean `check`?"), "{failed}");
    for head in
        ["#! print --elide many\n", "#! input 5\n", "#! run\n#! expect y\n", "#! pass nothing\n", "#!\n"]
    {
        tested(&with(head), 1);
    }
    tested("#! print\n{{{", 1);
    tested("#! run\n", 1);
}

#[test]
fn files_may_hold_several_cases() {
    let text = format!("#! check\n#--- one\n{MODEL}#--- two\n{}", MODEL.replace("Add(t, t)", "Add(t, u)"));
    let folder = Folder::new(&[("a.onnxtxt", text.as_bytes())]);
    assert_eq!(folder.run(&["test", "--list"]).expect(0).text().to_owned(), "a/one\na/two\n");
    assert!(folder.run(&["test"]).expect(1).text().to_owned().ends_with("1 passed, 1 failed\n"));
    assert_eq!(folder.run(&["test", "--filter", "one"]).expect(0).text().to_owned(), "1 passed, 0 failed\n");
    folder.run(&["test", "--filter", "three"]).expect(2);

    folder.run(&["test", "--junit", "r.xml"]).expect(1);
    let report = String::from_utf8(folder.read("r.xml")).unwrap();
    assert!(report.contains("tests=\"2\" failures=\"1\"") && report.contains("name=\"a/two\""), "{report}");
    let github = folder.run(&["test", "--format", "github"]).expect(1).text().to_owned();
    assert!(github.starts_with("::error file="), "{github}");
    let json = folder.run(&["test", "--format", "json"]).expect(1).text().to_owned();
    assert!(json.contains("\"passed\":false"), "{json}");
}

/// The names of the tests in a report, and the name of its suite.
fn reported(report: &[u8]) -> (String, Vec<String>) {
    let report = std::str::from_utf8(report).unwrap();
    let named = |tag: &str| -> Vec<String> {
        let mark = format!("<{tag} name=\"");
        let parts = report.split(&mark).skip(1);
        parts.map(|part| part.split('"').next().unwrap().to_owned()).collect()
    };
    (named("testsuite").concat(), named("testcase"))
}

#[test]
fn machines_share_the_tests() {
    let text: String = ["a", "b", "c", "d", "e", "f", "g"]
        .map(|name| {
            format!(
                "#--- {name}\n#! check\n{}",
                MODEL.replace("Add(t, t)", if name == "f" { "Add(t, u)" } else { "Add(t, t)" })
            )
        })
        .concat();
    let folder = Folder::new(&[("a.onnxtxt", text.as_bytes())]);
    folder.run(&["test", "--junit", "all.xml"]).expect(1);
    let (suite, all) = reported(&folder.read("all.xml"));
    assert_eq!((suite.as_str(), all.len()), ("onnxtxt", 7));
    for count in [1, 3, 7, 9] {
        let (mut suites, mut merged, mut failed) = (Vec::new(), Vec::new(), 0);
        for index in 1..=count {
            let shard = format!("{index}/{count}");
            let listed = folder.run(&["test", "--shard", &shard, "--list"]).expect(0).text().to_owned();
            let mut done = folder.command(&["test", "--shard", &shard, "--junit", "r.xml"]);
            failed += i32::from(done.output().unwrap().status.code() == Some(1));
            let (suite, tests) = reported(&folder.read("r.xml"));
            assert_eq!(listed.lines().collect::<Vec<_>>(), tests, "{shard}");
            assert_eq!(suite, format!("onnxtxt {shard}"));
            suites.push(suite);
            merged.extend(tests);
        }
        merged.sort_unstable();
        assert_eq!((merged, failed), (all.clone(), 1), "{count}");
        suites.dedup();
        assert_eq!(suites.len(), count);
    }
    // Of what is selected, not of all.
    assert_eq!(folder.run(&["test", "--filter", "b", "--shard", "1/2", "--list"]).expect(0).text(), "a/b\n");
    assert_eq!(
        folder.run(&["test", "--filter", "b", "--shard", "2/2"]).expect(0).text(),
        "0 passed, 0 failed\n"
    );
    for wrong in ["0/2", "3/2", "2", "1/0"] {
        let said = folder.run(&["test", "--shard", wrong]).expect(2).said();
        assert!(said.contains(&format!("`{wrong}` is not a share: expected I/N")), "{said}");
    }
}

#[test]
fn folders_without_tests_are_an_error() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    folder.run(&["test"]).expect(2);
    folder.run(&["test", "nowhere"]).expect(2);
}

#[test]
fn the_suite_of_the_project_is_run_by_the_same_harness() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let folder = Folder::new(&[]);
    let (suite, snapshots) = (format!("{root}/tests/suite/pass"), format!("{root}/snapshots/pass"));
    let text = folder.run(&["test", &suite, "--snapshots", &snapshots]).expect(0).text().to_owned();
    assert!(text.ends_with(" passed, 0 failed\n"), "{text}");
}

/// The examples of docs/testing.md: each block that begins with a directive passes, once its snapshot is written.
#[test]
fn the_examples_of_the_documentation_pass() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/testing.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> =
        page.split("```").skip(1).step_by(2).filter(|block| block.starts_with("\n#!")).collect();
    assert!(blocks.len() >= 2);
    for block in blocks {
        let folder = Folder::new(&[("a.onnxtxt", block.trim_start().as_bytes())]);
        folder.run(&["test", "--bless"]).expect(0);
        folder.run(&["test"]).expect(0);
    }
}

#[test]
fn checks_belong_to_the_directive_above_them() {
    let head =
        "#! print\n# CHECK: Identity(x)\n#! pass remove-no-ops\n# CHECK: Add(x, x)\n# CHECK-NOT: Identity\n";
    tested(&with(head), 0);
    let wrong = tested(&with(&head.replace("Identity(x)", "Add(x, x)")), 1);
    assert!(wrong.contains("line 2: `CHECK: Add(x, x)` is not found"), "{wrong}");
}

#[test]
fn conversions_are_tested_like_passes() {
    let head = "#! convert-opset=13\n#! expect same as before the pass\n# CHECK: \"\": 13\n";
    tested(&with(head), 0);
    tested(&with("#! convert-opset=1000\n"), 1);
    tested(&with("#! convert-opset=what\n"), 1);
}

#[test]
fn values_and_models_may_be_in_files() {
    let folder = Folder::new(&[("m.onnx", &crate::binary(MODEL)), ("n.onnxtxt", MODEL.as_bytes())]);
    folder.write("x.onnxtxt", b"float[2] x = {1, 2}");
    let head = "#! model m.onnx\n#! check\n#! interface\n# CHECK: input x float[2]\n# CHECK: operator Add 1\n#! run\n";
    folder.write(
        "a.onnxtxt",
        format!("{head}#! input float[2] x = {{1, 2}}\n#! expect float[2] y = {{2, 4}}\n").as_bytes(),
    );
    assert_eq!(folder.run(&["test"]).expect(0).text(), "1 passed, 0 failed\n");

    folder.run(&["run", "m.onnx", "--random", "-o", "y.npz"]).expect(0);
    folder.write("b.onnxtxt", b"#! model m.onnx\n#! run\n#! input float[2] x = {1, 2}\n#! expect y.npz\n");
    let failed = folder.run(&["test", "b.onnxtxt"]).expect(1).text().to_owned();
    assert!(failed.contains("output `y`: 2 of 2 elements differ"), "{failed}");

    let other = MODEL.replace("Add(t, t)", "Mul(t, t)");
    folder.write("other.onnxtxt", other.as_bytes());
    folder.write("c.onnxtxt", with("#! expect same as n.onnxtxt\n").as_bytes());
    folder.run(&["test", "c.onnxtxt"]).expect(0);
    folder.write("c.onnxtxt", with("#! expect same as other.onnxtxt rtol=1e-3\n").as_bytes());
    let failed = folder.run(&["test", "c.onnxtxt"]).expect(1).text().to_owned();
    assert!(failed.contains("the first result that differs is `y` of Add: it "), "{failed}");

    for head in [
        "#! model nowhere.onnx\n#! run\n",
        "#! model m.onnx\n#! fmt\n",
        "#! run\n#! input nowhere.npz\n",
        "#! model\n",
    ] {
        folder.write("d.onnxtxt", with(head).as_bytes());
        folder.run(&["test", "d.onnxtxt"]).expect(1);
    }
}

/// Modules that Python would import from the folder where it is started.
pub(crate) const PLANTED: [&str; 5] = ["numpy.py", "onnx.py", "onnxruntime.py", "sitecustomize.py", "re.py"];

/// A test that someone else wrote starts nothing, and beside it is nothing that is started.
#[cfg(unix)]
#[test]
fn other_programs_need_permission_and_run_elsewhere() {
    use std::os::unix::fs::PermissionsExt as _;
    let text = with("#! run\n#! expect same as onnxruntime\n");
    let folder = Folder::new(&[("a.onnxtxt", text.as_bytes())]);
    folder.write("python", b"#!/bin/sh\n{ pwd; echo \"$@\"; } >\"$SEEN\"; exit 1\n");
    std::fs::set_permissions(folder.path("python"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = folder.command(arguments);
        let output = command.env("ONNXTXT_PYTHON", "./python").env("SEEN", folder.path("seen")).output();
        crate::Done::of(output.unwrap())
    };
    for command in [&["test", "."][..], &["test", "a.onnxtxt"], &["test", ".", "--bless=force"]] {
        let failed = run(command).expect(1).text().to_owned();
        assert!(
            failed.contains(
                "line 2: the directive starts Python with ONNX Runtime, which needs `--allow-programs`"
            ) && failed.ends_with("0 passed, 1 failed\n"),
            "{failed}"
        );
        assert!(!folder.path("seen").exists(), "{command:?}");
    }
    folder.write("m.onnxtxt", MODEL.as_bytes());
    for (command, code) in
        [(&["test", ".", "--allow-programs"][..], 1), (&["compare", "m.onnxtxt", "ort"], 2)]
    {
        let said = run(command).expect(code).said();
        assert!(said.contains("ONNX Runtime cannot run the model"), "{said}");
        let seen = String::from_utf8(folder.read("seen")).unwrap();
        let (place, arguments) = seen.split_once('\n').unwrap();
        assert!(std::path::Path::new(place) != folder.path("").canonicalize().unwrap(), "{seen}");
        assert!(arguments.starts_with("-I -c "), "{seen}");
        std::fs::remove_file(folder.path("seen")).unwrap();
    }
    let root = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in [".pre-commit-hooks.yaml", "action.yml"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        assert!(text.contains("onnxtxt test") && !text.contains("allow-programs"), "{file}");
    }
}

#[test]
fn onnx_runtime_is_asked() {
    if std::env::var_os("ONNXTXT_PYTHON").is_none() {
        // CI has it.
        return;
    }
    let allowed = |text: &str, code: i32| {
        let folder = Folder::new(&[("a.onnxtxt", text.as_bytes())]);
        PLANTED.iter().for_each(|name| folder.write(name, b"open('executed', 'w')"));
        let done = folder.run(&["test", "a.onnxtxt", "--allow-programs"]).expect(code);
        assert!(!folder.path("executed").exists());
        done.text().to_owned()
    };
    allowed(&with("#! expect same as onnxruntime\n"), 0);
    let random = with("#! expect same as onnxruntime\n").replace("Identity(x)", "RandomNormalLike(x)");
    let failed = allowed(&random, 1);
    assert!(failed.contains("compared with ONNX Runtime"), "{failed}");
}

#[test]
fn tests_are_chosen_by_tags() {
    let text = format!("#--- one\n#! tags slow\n#! check\n{MODEL}#--- two\n#! check\n{MODEL}");
    let folder = Folder::new(&[("a.onnxtxt", text.as_bytes())]);
    assert_eq!(folder.run(&["test", "--tag", "slow", "--list"]).expect(0).text(), "a/one\n");
    folder.run(&["test", "--tag", "fast"]).expect(2);
}

#[test]
fn a_first_test_of_a_model_is_recorded() {
    let folder = Folder::new(&[("m.onnx", &crate::binary(MODEL))]);
    folder.run(&["test", "--record", "m.onnx"]).expect(0);
    let test = String::from_utf8(folder.read("m.test.onnxtxt")).unwrap();
    assert!(
        test.starts_with("#! model m.onnx\n#! check\n#! interface\n#! run\n#! input float[2] x = {"),
        "{test}"
    );
    assert_eq!(folder.run(&["test", "."]).expect(0).text(), "1 passed, 0 failed\n");
    folder.run(&["test", "--record", "m.onnx"]).expect(2);

    folder.write("m.onnx", &crate::binary(&MODEL.replace("Add(t, t)", "Mul(t, t)")));
    let failed = folder.run(&["test", "."]).expect(1).text().to_owned();
    assert!(failed.contains("operator Mul 1"), "{failed}");

    let large = MODEL.replace("float[2]", "float[200]");
    folder.write("l.onnx", &crate::binary(&large));
    folder.run(&["test", "--record", "l.onnx", "--seed", "3"]).expect(0);
    assert!(folder.names().contains(&"l.test.outputs.npz".to_owned()), "{:?}", folder.names());
    folder.run(&["test", "l.test.onnxtxt"]).expect(0);
}

/// No pass changes results, but fewer random operators draw other numbers.
#[test]
fn a_forced_snapshot_says_what_has_changed() {
    let text = with("#! pass dead-code\n")
        .replace("Identity(x)", "RandomNormalLike(x)")
        .replace("Add(t, t)", "RandomUniformLike(x)");
    let folder = Folder::new(&[("a.onnxtxt", text.as_bytes())]);
    let refused = folder.run(&["test", "--bless"]).expect(1).text().to_owned();
    assert!(refused.contains("not blessed, because results change"), "{refused}");
    assert_eq!(folder.names(), ["a.onnxtxt"]);
    for _ in 0..2 {
        folder.run(&["test", "--bless=force"]).expect(0);
    }
    let noted = String::from_utf8(folder.read("a.onnxtxt")).unwrap();
    assert_eq!(noted.matches("\n# Results change: output `y`").count(), 1, "{noted}");
    folder.run(&["test"]).expect(0);
}

#[test]
fn expected_outputs_are_blessed_by_force() {
    let head =
        "#! run\n#! input float[2] x = {1, 2}\n#! expect float[2] y = {1, 2} rtol=1e-3\n#! expect y.npz\n";
    let folder = Folder::new(&[("a.onnxtxt", with(head).as_bytes())]);
    folder.write("b.onnxtxt", MODEL.replace("Add(t, t)", "Abs(t)").as_bytes());
    folder.run(&["run", "b.onnxtxt", "--random", "-o", "y.npz"]).expect(0);
    let refused = folder.run(&["test", "a.onnxtxt", "--bless"]).expect(1).text().to_owned();
    assert!(refused.contains("not blessed, because results change"), "{refused}");
    assert_eq!(folder.read("a.onnxtxt"), with(head).as_bytes());
    folder.run(&["test", "a.onnxtxt", "--bless=force"]).expect(0);
    let text = String::from_utf8(folder.read("a.onnxtxt")).unwrap();
    assert!(
        text.contains(
            "#! expect float[2] y = {2, 4} rtol=1e-3\n#! expect y.npz\n# Results change: output `y`: 2 of 2"
        ),
        "{text}"
    );
    folder.run(&["test", "a.onnxtxt"]).expect(0);
    folder.run(&["test", "a.onnxtxt", "--bless=force"]).expect(0);
    assert_eq!(folder.read("a.onnxtxt"), text.as_bytes());
}

/// A test that comes with a model from elsewhere reads nothing but what came with it.
#[test]
fn tests_read_only_what_is_in_the_tested_folder() {
    let folder = Folder::new(&[("secret.onnxtxt", MODEL.as_bytes())]);
    std::fs::create_dir_all(folder.path("tests/inner")).unwrap();
    folder.write("tests/m.onnxtxt", MODEL.as_bytes());
    let secret = folder.path("secret.onnxtxt").display().to_string();
    let tried = |test: &str, path: &str, head: &str, code: i32| {
        folder.write(test, head.as_bytes());
        let said = folder.run(&["test", path]).expect(code).text().to_owned();
        std::fs::remove_file(folder.path(test)).unwrap();
        said
    };
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(folder.path("secret.onnxtxt"), folder.path("tests/link.onnx")).unwrap();
        std::os::unix::fs::symlink("m.onnxtxt", folder.path("tests/near.onnx")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path("tests/zero.npz")).unwrap();
        tried("tests/a.onnxtxt", "tests", "#! model near.onnx\n#! interface\n# CHECK: y\n", 0);
    }
    for inside in ["m.onnxtxt", "./m.onnxtxt", "inner/../m.onnxtxt"] {
        tried("tests/a.onnxtxt", "tests", &format!("#! model {inside}\n#! interface\n# CHECK: y\n"), 0);
    }
    // Up, but not out: as one of all tests, and by its name.
    for path in ["tests", "tests/inner/a.onnxtxt"] {
        tried("tests/inner/a.onnxtxt", path, "#! model ../m.onnxtxt\n#! interface\n# CHECK: y\n", 0);
    }
    let outside = ["../secret.onnxtxt", "inner/../../secret.onnxtxt", &secret, "/dev/zero", "/etc/hostname"];
    let outside = outside.into_iter().chain(cfg!(unix).then_some("link.onnx"));
    for file in outside {
        for head in
            [format!("#! model {file}\n#! interface\n"), format!("#! run\n#! expect same as {file}\n{MODEL}")]
        {
            let said = tried("tests/a.onnxtxt", "tests", &head, 1);
            assert!(said.contains(&format!("`{file}` is outside of the tested folder")), "{said}");
        }
    }
    for values in ["../v.npz", "/v.npz", "../../v.npy", "inner/../../v.pb"] {
        folder.write("v.npz", b"");
        folder.write("v.pb", b"");
        for verb in ["input", "expect"] {
            let said = tried("tests/a.onnxtxt", "tests", &with(&format!("#! run\n#! {verb} {values}\n")), 1);
            assert!(said.contains("tested folder") || said.contains("No such file"), "{said}");
            assert!(!said.contains("not a .npz file") && !said.contains("not a value"), "{said}");
        }
    }
    #[cfg(unix)]
    {
        let said = tried("tests/a.onnxtxt", "tests", &with("#! run\n#! input zero.npz\n"), 1);
        assert!(said.contains("tested folder"), "{said}");
    }
}
