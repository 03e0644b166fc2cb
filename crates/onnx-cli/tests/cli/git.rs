//! Models in repositories of git: differences, history, merges.

use crate::{Folder, binary};
use std::process::{Command, Output};

const BASE: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[6] x) => (float[6] y)
<float[6] w = {1, 2, 3, 4, 5, 6}>
{
    t = Mul(x, w)
    h = Cast <to = 10> (t)
    f = Cast <to = 1> (h)
    y = LeakyRelu <alpha = 0.1> (f)
}
";

/// A repository with the program's settings.
struct Repository(Folder);

impl Repository {
    fn new() -> Repository {
        let repository = Repository(Folder::new(&[]));
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&["config", "user.name", "n"]);
        repository.git(&["config", "user.email", "n@example.com"]);
        repository.onnxtxt(&["git", "install"]);
        repository
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.current_dir(self.0.path("")).args(arguments);
        // The user's own settings must not affect the tests.
        command.env("GIT_CONFIG_GLOBAL", self.0.path("global")).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("HOME", self.0.path("")).env("XDG_CONFIG_HOME", self.0.path("xdg"));
        command.env("GIT_PAGER", "cat").env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
        command.output().unwrap()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.command("git", arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.command("git", arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    fn onnxtxt(&self, arguments: &[&str]) -> Output {
        let output = self.command(env!("CARGO_BIN_EXE_onnxtxt"), arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn commit(&self, files: &[(&str, Vec<u8>)], message: &str) {
        files.iter().for_each(|(name, content)| self.0.write(name, content));
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// Both forms of a model.
    fn commit_both(&self, text: &str, message: &str) {
        self.commit(&[("m.onnx", binary(text)), ("m.onnxtxt", text.as_bytes().to_vec())], message);
    }

    /// One change on `main`, another one on `side`.
    fn forked(ours: (&str, &str), theirs: (&str, &str)) -> Repository {
        let repository = Repository::new();
        repository.commit_both(BASE, "base");
        repository.git(&["checkout", "-q", "-b", "side"]);
        repository.commit_both(&BASE.replace(theirs.0, theirs.1), "theirs");
        repository.git(&["checkout", "-q", "main"]);
        repository.commit_both(&BASE.replace(ours.0, ours.1), "ours");
        repository
    }
}

/// A model in a repository, its golden test, a change in a clone that CI refuses, and what its author does then.
#[test]
fn a_change_of_a_model_is_seen_in_ci_and_blessed() {
    let origin = Repository::new();
    origin.commit(&[("m.onnx", binary(BASE))], "export the model");
    origin.onnxtxt(&["test", "--record", "m.onnx", "--seed", "1"]);
    origin.git(&["add", "-A"]);
    origin.git(&["commit", "-q", "-m", "record a golden test"]);

    let clone = Repository::new();
    // The origin has it.
    std::fs::remove_file(clone.0.path(".gitattributes")).unwrap();
    clone.git(&["pull", "-q", &origin.0.path("").display().to_string(), "main"]);
    clone.onnxtxt(&["test", "."]);
    // The next export has another slope.
    clone
        .0
        .write("m.onnx", &binary(&BASE.replace("alpha = 0.1", "alpha = 0.5").replace("{1, 2,", "{-1, 2,")));
    let ci = clone.command(env!("CARGO_BIN_EXE_onnxtxt"), &["test", "--format", "github", "."]);
    let annotations = String::from_utf8_lossy(&ci.stdout).into_owned();
    assert_eq!(ci.status.code(), Some(1), "{annotations}");
    assert!(annotations.starts_with("::error file=./m.test.onnxtxt::"), "{annotations}");
    assert!(annotations.contains("output `y`: "), "{annotations}");
    let diff = clone.git(&["diff", "m.onnx"]);
    assert!(diff.contains("+    y = LeakyRelu <alpha = 0.5> (f)"), "{diff}");
    let refused = clone.command(env!("CARGO_BIN_EXE_onnxtxt"), &["test", "--bless", "."]);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(clone.git(&["status", "--short"]), " M m.onnx\n");
    clone.onnxtxt(&["test", "--bless=force", "."]);
    clone.onnxtxt(&["test", "."]);
    let diff = clone.git(&["diff", "m.test.onnxtxt"]);
    assert!(
        diff.contains("+#! expect float[6] y = ") && diff.contains("+# Results change: output `y`: "),
        "{diff}"
    );
    clone.git(&["commit", "-q", "-am", "another slope"]);

    origin.git(&["pull", "-q", &clone.0.path("").display().to_string(), "main"]);
    origin.onnxtxt(&["test", "."]);
}

#[test]
fn differences_and_history_of_binary_models_are_text() {
    let repository = Repository::new();
    repository.commit_both(BASE, "base");
    repository.0.write("m.onnx", &binary(&BASE.replace("alpha = 0.1", "alpha = 0.5")));
    let diff = repository.git(&["diff", "m.onnx"]);
    assert!(diff.contains("-    y = LeakyRelu <alpha = 0.1> (f)"), "{diff}");
    assert!(diff.contains("+    y = LeakyRelu <alpha = 0.5> (f)"), "{diff}");
    assert!(diff.contains("     h = Cast <to = 10> (t)  # to: float16\n"), "{diff}");
    repository.commit(&[("m.onnx", binary(&BASE.replace("5, 6}", "5, 7}")))], "weights");
    let log = repository.git(&["log", "-p", "-1", "--", "m.onnx"]);
    let digests: Vec<&str> = log.lines().filter(|line| line.contains("sha256:")).collect();
    assert_eq!(digests.len(), 2, "{log}");
    assert!(digests[0].starts_with('-') && digests[1].starts_with('+'), "{log}");
    // Broken models and other files in history do not end it.
    repository.commit(&[("m.onnx", b"\x08\x0a\x3a\xff\xff".to_vec())], "broken");
    assert!(repository.git(&["log", "-p", "-1", "--", "m.onnx"]).contains("# error["));
    repository.commit(
        &[("m.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1\n".to_vec())],
        "pointer",
    );
    repository.git(&["log", "-p", "-2", "--", "m.onnx"]);
}

#[test]
fn changes_that_do_not_overlap_merge() {
    let ours = ("alpha = 0.1", "alpha = 0.5");
    for theirs in [
        ("5, 6}", "5, 7}"),
        ("    f = Cast", "    n = Neg(x)\n    f = Cast"),
        ("21]", "21], producer_name: \"p\""),
    ] {
        let repository = Repository::forked(ours, theirs);
        repository.git(&["merge", "-q", "--no-edit", "side"]);
        let both = BASE.replace(ours.0, ours.1).replace(theirs.0, theirs.1);
        repository.0.write("expected", both.as_bytes());
        for name in ["m.onnx", "m.onnxtxt"] {
            repository.onnxtxt(&["diff", "expected", name]);
            repository.onnxtxt(&["check", name]);
        }
        assert_eq!(repository.git(&["status", "--porcelain", "--untracked-files=no"]), "");
        assert!(!repository.0.names().iter().any(|name| name.contains("conflict")));
    }
}

#[test]
fn conflicts_can_be_solved_in_a_text() {
    let repository = Repository::forked(("alpha = 0.1", "alpha = 0.5"), ("alpha = 0.1", "alpha = 0.7"));
    let said = repository.fails(&["merge", "--no-edit", "side"]);
    assert!(said.contains("graph.node[y = LeakyRelu].attribute[alpha].f"), "{said}");
    let marked = "<<<<<<< ours\n    y = LeakyRelu <alpha = 0.5> (f)\n=======\n    y = LeakyRelu <alpha = 0.7> (f)\n>>>>>>> theirs\n";
    let text = String::from_utf8(repository.0.read("m.onnxtxt")).unwrap();
    assert_eq!(text, BASE.replace("    y = LeakyRelu <alpha = 0.1> (f)\n", marked));
    let beside = String::from_utf8(repository.0.read("m.onnx.conflict.onnxtxt")).unwrap();
    assert!(beside.contains(marked), "{beside}");
    // The binary model is still one, with our side.
    repository.0.write("ours", BASE.replace("alpha = 0.1", "alpha = 0.5").as_bytes());
    repository.onnxtxt(&["diff", "m.onnx", "ours"]);
    let solved = beside.replace(marked, "    y = LeakyRelu <alpha = 0.6> (f)\n");
    repository.0.write("m.onnx.conflict.onnxtxt", solved.as_bytes());
    repository.onnxtxt(&["convert", "m.onnx.conflict.onnxtxt", "-o", "m.onnx"]);
    repository.onnxtxt(&["check", "m.onnx"]);
}

#[test]
fn a_result_with_new_errors_is_no_clean_merge() {
    // One side removes what the other begins to use.
    let without =
        BASE.replace("    h = Cast <to = 10> (t)\n    f = Cast <to = 1> (h)\n", "").replace("(f)", "(t)");
    let more = BASE
        .replace("float[6] y)", "float[6] y, float16[6] z)")
        .replace("    f = ", "    z = Neg(h)\n    f = ");
    let folder =
        Folder::new(&[("base", BASE.as_bytes()), ("ours", without.as_bytes()), ("theirs", more.as_bytes())]);
    let done = folder.run(&["merge", "base", "ours", "theirs", "-o", "out.onnxtxt"]).expect(1);
    assert!(done.stderr.contains("undefined value `h`"), "{}", done.stderr);
    assert!(String::from_utf8(folder.read("out.onnxtxt")).unwrap().contains("z = Neg(h)"));
}

#[test]
fn what_install_sets_uninstall_removes() {
    let repository = Repository::new();
    let installed = repository.0.read(".gitattributes");
    repository.onnxtxt(&["git", "install"]);
    assert_eq!(repository.0.read(".gitattributes"), installed);
    assert!(repository.git(&["config", "merge.onnx.driver"]).contains("merge -o %A --path=%P -- %O %A %B"));
    repository.0.write(".gitattributes", &[b"*.png binary\n", &installed[..]].concat());
    repository.onnxtxt(&["git", "uninstall"]);
    assert_eq!(repository.0.read(".gitattributes"), b"*.png binary\n");
    assert!(!repository.git(&["config", "--list", "--local"]).contains("onnx"));
    repository.onnxtxt(&["git", "uninstall"]);
    repository.onnxtxt(&["git", "install", "--global"]);
    assert!(repository.git(&["config", "--list", "--global"]).contains("diff.onnx.textconv"));
    assert!(repository.0.path("xdg/git/attributes").is_file());
    let outside = Folder::new(&[("m", BASE.as_bytes())]);
    outside.run(&["git", "install"]).expect(2);
}

#[test]
fn reviews_are_short_and_steady() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N,8] x) => (float[N,8] y)
<float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[8] big = [\"location\": \"w.bin\", \"length\": \"32\"], float[N,8] t>
{
    [t] t = Mul(x, w)
    [add] u = Add(t, big)
    y = Cast <to = 1> (u)
}
";
    let folder = Folder::new(&[("m", text.as_bytes())]);
    let first = folder.run(&["print", "--profile", "review", "m"]).expect(0).text().to_owned();
    assert_eq!(folder.run(&["print", "--profile", "review", "m"]).expect(0).text(), first);
    for part in [
        "# sha256:",
        "    t = Mul(x, w)  # float[N,8]\n",
        "[add] u = Add(t, big)",
        "# to: float; float[N,8]\n",
        "\"w.bin\"",
    ] {
        assert!(first.contains(part), "{part}\n{first}");
    }
    assert!(!first.contains("float[N,8] t"), "{first}");
    folder.run(&["convert", "--profile", "review", "m", "-o", "n.onnxtxt"]).expect(2);
}

/// A repository of someone else may have a link in place of the file.
#[cfg(unix)]
#[test]
fn attributes_of_a_repository_are_not_written_through_a_link() {
    let repository = Repository::new();
    repository.onnxtxt(&["git", "uninstall"]);
    for target in ["victim", "nowhere"] {
        repository.0.write("victim", b"mine");
        std::os::unix::fs::symlink(repository.0.path(target), repository.0.path(".gitattributes")).unwrap();
        for action in ["install", "uninstall"] {
            let done = repository.command(env!("CARGO_BIN_EXE_onnxtxt"), &["git", action]);
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(
                done.status.code() == Some(2) && said.contains("is a link, which is not followed"),
                "{said}"
            );
        }
        assert_eq!(repository.0.read("victim"), b"mine");
        assert!(!repository.0.path("nowhere").exists());
        assert!(!repository.git(&["config", "--list"]).contains("diff.onnx.textconv"));
        std::fs::remove_file(repository.0.path(".gitattributes")).unwrap();
    }
    // The user's own file may be one.
    std::fs::create_dir_all(repository.0.path("xdg/git")).unwrap();
    repository.0.write("dotfile", b"*.png binary\n");
    std::os::unix::fs::symlink(repository.0.path("dotfile"), repository.0.path("xdg/git/attributes"))
        .unwrap();
    repository.onnxtxt(&["git", "install", "--global"]);
    assert!(String::from_utf8(repository.0.read("dotfile")).unwrap().contains("merge=onnx"));
    repository.onnxtxt(&["git", "uninstall", "--global"]);
    assert_eq!(repository.0.read("dotfile"), b"*.png binary\n");
}

/// Git passes the names of files as they are.
#[test]
fn names_that_begin_with_a_hyphen_are_names() {
    let repository = Repository::new();
    for name in ["-a.onnx", "--profile=review.onnx", "- b.onnx"] {
        repository.commit(&[(name, binary(BASE))], "base");
        repository.0.write(name, &binary(&BASE.replace("alpha = 0.1", "alpha = 0.5")));
        let diff = repository.git(&["diff", "--", name]);
        assert!(diff.contains("+    y = LeakyRelu <alpha = 0.5> (f)"), "{name}: {diff}");
        repository.git(&["checkout", "-q", "-b", "side"]);
        repository.git(&["commit", "-q", "-am", "theirs"]);
        repository.git(&["checkout", "-q", "main"]);
        repository.commit(&[(name, binary(&BASE.replace("{1, 2,", "{-1, 2,")))], "ours");
        repository.git(&["merge", "-q", "-m", "both", "side"]);
        repository.git(&["branch", "-q", "-d", "side"]);
        let merged = repository.onnxtxt(&["print", "--", name]);
        let text = String::from_utf8(merged.stdout).unwrap();
        assert!(text.contains("alpha = 0.5") && text.contains("{-1, 2,"), "{name}: {text}");
        // Conflicts are written beside the model, under its name.
        repository.git(&["checkout", "-q", "-b", "side"]);
        repository.commit(&[(name, binary(&BASE.replace("alpha = 0.1", "alpha = 0.6")))], "theirs");
        repository.git(&["checkout", "-q", "main"]);
        repository.commit(&[(name, binary(&BASE.replace("alpha = 0.1", "alpha = 0.7")))], "ours");
        let said = repository.fails(&["merge", "side"]);
        assert!(said.contains("1 conflict"), "{name}: {said}");
        assert!(repository.0.names().contains(&format!("{name}.conflict.onnxtxt")), "{name}");
        repository.git(&["merge", "--abort"]);
        repository.git(&["branch", "-q", "-D", "side"]);
    }
}
