//! The commands: one file each, with its `Args` and its `run`, and a row in the list at the end.

pub(crate) mod backend_test;
pub(crate) mod bench;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod cli;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod concat;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod draw;
pub(crate) mod edit;
pub(crate) mod explain;
pub(crate) mod extract;
pub(crate) mod fmt;
pub(crate) mod git;
pub(crate) mod infer;
pub(crate) mod info;
pub(crate) mod inline;
pub(crate) mod insert;
pub(crate) mod limits;
pub(crate) mod lower;
pub(crate) mod lsp;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod ops;
pub(crate) mod outline;
pub(crate) mod overview;
pub(crate) mod pass;
pub(crate) mod print;
pub(crate) mod quantize;
pub(crate) mod reduce;
pub(crate) mod rename;
pub(crate) mod replace;
pub(crate) mod repro;
mod review;
pub(crate) mod run;
pub(crate) mod semver;
pub(crate) mod set_metadata;
pub(crate) mod set_opset;
pub(crate) mod set_shape;
pub(crate) mod simplify;
pub(crate) mod stats;
pub(crate) mod strip;
pub(crate) mod test;
pub(crate) mod train;
pub(crate) mod trainable;
mod types;
pub(crate) mod usage;
pub(crate) mod verify;
pub(crate) mod weights;

use crate::session::{Session, Status};
use clap::Subcommand;

macro_rules! commands {
    ($($group:literal: [$($name:ident = $module:ident),* $(,)?])*) => {
        /// The commands, in the order of the help.
        #[derive(Subcommand)]
        pub(crate) enum Command {
            $($($name($module::Args),)*)*
        }

        impl Command {
            pub(crate) fn run(&self, session: &mut Session) -> anyhow::Result<Status> {
                match self {
                    $($(Command::$name(args) => $module::run(args, session),)*)*
                }
            }
        }

        /// The commands by what they are for; their names have `_` instead of `-`.
        pub(crate) const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$(stringify!($module)),*])),*];
    };
}

commands! {
    "look": [Info = info, Print = print, Draw = draw, Stats = stats, Weights = weights]
    "edit": [
        Edit = edit,
        Convert = convert,
        Fmt = fmt,
        Extract = extract,
        Replace = replace,
        Insert = insert,
        Concat = concat,
        Rename = rename,
        Inline = inline,
        Outline = outline,
        SetShape = set_shape,
        SetOpset = set_opset,
        SetMetadata = set_metadata,
        Strip = strip,
        Simplify = simplify,
        Quantize = quantize,
        Pass = pass,
    ]
    "check": [Check = check, Infer = infer, Verify = verify, Compare = compare, Semver = semver]
    "run": [Run = run, Bench = bench, Lower = lower]
    "test": [Test = test, BackendTest = backend_test, Reduce = reduce, Repro = repro]
    "train": [Trainable = trainable, Train = train]
    "for git": [Git = git, Diff = diff, Merge = merge]
    "more": [
        Explain = explain,
        Ops = ops,
        Limits = limits,
        Cache = cache,
        Lsp = lsp,
        Completions = completions,
        Man = man,
    ]
}
