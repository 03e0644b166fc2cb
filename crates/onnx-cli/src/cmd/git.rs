//! `onnxtxt git`: lets git show and merge models.

use crate::output;
use crate::session::{Session, Status};
use anyhow::{Context as _, bail, ensure};
use onnxtxt::files::{Derived, Guard, Reads};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Let git compare and merge models
///
/// `install` sets attributes for *.onnx, *.onnxtxt and *.onnxtext, and configures a diff and a merge driver. Then `git diff` and
/// `git log -p` show binary models like `onnxtxt print --profile review`, and `git merge` merges nodes, attributes and weights
/// instead of lines.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt git install                 this repository: .gitattributes and .git/config
  onnxtxt git install --global        all repositories of this user
  onnxtxt git uninstall")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Set attributes and configure drivers
    Install(Scope),
    /// Remove what `install` has set
    Uninstall(Scope),
}

#[derive(clap::Args)]
struct Scope {
    /// All repositories of this user
    #[arg(long, conflicts_with = "local")]
    global: bool,
    /// This repository (the default)
    #[arg(long)]
    local: bool,
}

impl Scope {
    fn flag(&self) -> &'static str {
        if self.global && !self.local { "--global" } else { "--local" }
    }
}

const BEGIN: &str = "# onnxtxt: models are compared and merged by structure";
const END: &str = "# onnxtxt: end";
const LINES: [&str; 3] = [
    "*.onnx diff=onnx merge=onnx",
    "*.onnxtxt diff=onnxtxt merge=onnx",
    "*.onnxtext diff=onnxtxt merge=onnx",
];
const SECTIONS: [&str; 3] = ["diff.onnx", "diff.onnxtxt", "merge.onnx"];

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let (is_install, scope) = match &args.action {
        Action::Install(scope) => (true, scope),
        Action::Uninstall(scope) => (false, scope),
    };
    let file = attributes_file(scope)?;
    let derived = Derived::beside(&file, |_| Ok(true));
    if !scope.global {
        // Others may have put a link into the repository; that of the user's configuration is the user's.
        derived.check(Guard::new(&Reads::default()))?;
    }
    let old = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
    };
    let mut new = without_block(&old);
    if is_install {
        if !(new.is_empty() || new.ends_with('\n')) {
            new.push('\n');
        }
        new += &format!("{BEGIN}\n{}\n{END}\n", LINES.join("\n"));
    }
    if is_install {
        let program = program()?;
        // Names may begin with `-`: git appends the one of `textconv`.
        let driver = format!("{program} merge -o %A --path=%P -- %O %A %B");
        for (key, value) in [
            ("diff.onnx.textconv", format!("{program} -q print --profile review --")),
            // The heading of a hunk is the graph or function around it.
            ("diff.onnxtxt.xfuncname", "^[A-Za-z_<\"].*$".to_owned()),
            ("merge.onnx.name", "models, by structure".to_owned()),
            ("merge.onnx.driver", driver),
        ] {
            let done = git(&["config", scope.flag(), key, &value])?;
            ensure!(done.status.success(), "git config {key}: {}", said(&done));
        }
    } else {
        for section in SECTIONS {
            // A missing section is not an error.
            git(&["config", scope.flag(), "--remove-section", section])?;
        }
    }
    if new != old {
        match (scope.global, new.is_empty()) {
            (true, _) => {
                onnxtxt::files::make_folder_of(&file)?;
                output::rewrite(&file, |out| out.write_all(new.as_bytes()))?;
            }
            (false, true) => derived.remove(Guard::new(&Reads::default()))?,
            (false, false) => output::derived(derived, |out| out.write_all(new.as_bytes()))?,
        }
    }
    let what = if is_install { "set" } else { "removed" };
    session.note(&format!(
        "{what}: attributes in {}, drivers in git config {}",
        file.display(),
        scope.flag()
    ));
    Ok(Status::Clean)
}

/// The attributes without those that `install` has written.
fn without_block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_inside = false;
    // Without the end marker, only our own lines are removed.
    let has_end = text.lines().any(|line| line == END);
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        is_inside |= bare == BEGIN && has_end;
        let is_own = is_inside || bare == BEGIN || LINES.contains(&bare);
        if !is_own {
            out += line;
        }
        is_inside &= bare != END;
    }
    out
}

fn attributes_file(scope: &Scope) -> anyhow::Result<PathBuf> {
    if !scope.global {
        let done = git(&["rev-parse", "--show-toplevel"])?;
        ensure!(done.status.success(), "not a git work tree: add `--global` ({})", said(&done));
        return Ok(Path::new(String::from_utf8_lossy(&done.stdout).trim_end_matches(['\r', '\n']))
            .join(".gitattributes"));
    }
    let done = git(&["config", "--global", "--type=path", "core.attributesFile"])?;
    let named = String::from_utf8_lossy(&done.stdout).trim_end_matches(['\r', '\n']).to_owned();
    if done.status.success() && !named.is_empty() {
        return Ok(PathBuf::from(named));
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = variable("XDG_CONFIG_HOME").or_else(|| variable("HOME").map(|home| home.join(".config")));
    let folder = folder.context("neither XDG_CONFIG_HOME nor HOME is set")?;
    Ok(folder.join("git").join("attributes"))
}

/// The command that git runs: the name of this program if it is in PATH, otherwise its path.
fn program() -> anyhow::Result<String> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let same = |folder: PathBuf| {
        let found = folder.join(own.file_name().unwrap_or_default());
        matches!((found.canonicalize(), own.canonicalize()), (Ok(a), Ok(b)) if a == b)
    };
    let name = own.file_name().and_then(|name| name.to_str()).filter(|name| *name == "onnxtxt");
    let first = std::env::var_os("PATH")
        .and_then(|path| std::env::split_paths(&path).find(|folder| folder.join("onnxtxt").is_file()));
    if let Some(name) = name
        && first.is_some_and(same)
    {
        return Ok(name.to_owned());
    }
    let Some(path) = own.to_str() else { bail!("the path {} is not UTF-8, as git needs", own.display()) };
    Ok(format!("'{}'", path.replace('\'', "'\\''")))
}

fn git(arguments: &[&str]) -> anyhow::Result<Output> {
    Command::new("git").args(arguments).output().context("cannot run git")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_lines_are_removed() {
        let block = format!("{BEGIN}\n{}\n{END}\n", LINES.join("\n"));
        assert_eq!(
            without_block(&format!("*.png binary\n{block}*.txt text\n")),
            "*.png binary\n*.txt text\n"
        );
        assert_eq!(without_block(&block), "");
        assert_eq!(without_block(&format!("a b\n{BEGIN}\n{}\nc d", LINES[0])), "a b\nc d");
    }
}
