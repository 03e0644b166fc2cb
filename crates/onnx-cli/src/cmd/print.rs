//! `onnxtxt print`: prints a model as text.

use crate::args::profile::ProfileArg;
use crate::emit::EXTENDED;
use crate::input::Input;
use crate::input::paths;
use crate::output;
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use onnx_text::RaiseOptions;
use onnxtxt::Text;
use std::path::PathBuf;

/// Print a model, a part of one, a value such as input_0.pb, or an operator set as text
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt print model.onnx | less
  onnxtxt print --elide 4 --no-metadata model.onnx    an overview: such a text cannot be read back
  onnxtxt print --types model.onnx                    inferred types after the nodes
  onnxtxt print --profile reference model.onnx        only what the reference implementation reads
  onnxtxt print --profile review model.onnx           digests of weights, types inline: what git shows")]
pub(crate) struct Args {
    /// The model; - (or none) is stdin
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Print at most N elements of a tensor, or of a list attribute of more than 32 elements
    #[arg(long, value_name = "N")]
    elide: Option<usize>,
    /// Syntax that the text may use
    #[arg(long, value_enum, default_value = "extended")]
    profile: ProfileArg,
    /// Omit metadata_props and the documentation of nodes and values
    #[arg(long)]
    no_metadata: bool,
    /// Print the inferred types of results as comments after each node
    #[arg(long)]
    types: bool,
}

/// The note about the syntax of a text for people.
const FOR_PEOPLE: &str = "the text uses extended syntax, which the reference implementation does not accept; `--profile onnx` uses \
                          less of it";

fn print_text(text: &Text) -> anyhow::Result<()> {
    if output::is_terminal() {
        return output::model_text(&text.to_text());
    }
    output::to_stdout(|out| text.write(out))
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    paths::ensure_given(std::slice::from_ref(&args.file))?;
    let work = Work::begin(session, format!("reading {}", args.file.display()));
    let input = Input::open(&args.file)?;
    if args.profile == ProfileArg::Review {
        let text = super::review::text(&input, args.elide);
        drop(work);
        // Reviewers see whatever could be read: git stops if this command fails, and history may contain broken models.
        output::model_text(&text)?;
        return Ok(Status::Clean);
    }
    let options = RaiseOptions {
        profile: args.profile.into(),
        elide: args.elide,
        metadata: !args.no_metadata,
        // Text for people uses the readable spelling, unless the profile `reference` is piped to a program.
        visible: args.profile != ProfileArg::Reference || output::is_terminal(),
        ..RaiseOptions::default()
    };
    if let Some(document) = input.document() {
        drop(work);
        output::model_text(&document.text(&options))?;
        document.report(session, &input, document.diagnostics());
        return Ok(Status::of(!document.is_partial()));
    }
    let loaded = input.load();
    let text = Text::new(&loaded.model, &options);
    drop(work);

    // The readable parts are printed in any case: they may be all that is left of the file.
    if loaded.model.main.is_some() && !text.is_lost() {
        if args.types {
            let typed = super::types::inferred(&text.to_text(), &loaded.model, &options);
            output::model_text(&typed)?;
        } else {
            print_text(&text)?;
        }
    }
    findings::report(session, &loaded, &loaded.diagnostics);
    findings::report(session, &loaded, text.losses());
    if text.is_extended() {
        match args.profile {
            ProfileArg::Extended | ProfileArg::Review => session.note(FOR_PEOPLE),
            ProfileArg::Onnx | ProfileArg::Reference => session.note(EXTENDED),
        }
    }
    Ok(Status::of(!loaded.is_partial() && !text.is_lost()))
}
