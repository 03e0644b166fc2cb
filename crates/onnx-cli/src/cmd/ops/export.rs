//! `onnxtxt ops --export`: writes the built-in operators as operator-set documents.

use super::Args;
use crate::input::document::Document;
use crate::input::operator_set::OperatorSetFile;
use crate::input::{Form, Input};
use crate::output::{self, OutputTarget};
use crate::session::{Session, Status};
use anyhow::{bail, ensure};
use onnx_ir::normalize_domain;
use onnx_ops::opset::document;
use onnx_ops::schema::Registry;
use onnx_text::RaiseOptions;
use onnxtxt::describe::{domain_text, known_domain};
use onnxtxt::files::Derived;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Writes a document for each domain into a folder, or that of one domain into a file.
pub(super) fn export(
    args: &Args,
    registry: &Registry,
    out: &Path,
    session: &mut Session,
) -> anyhow::Result<Status> {
    let is_folder = out.is_dir();
    let requested = args.domain.as_deref().map(normalize_domain);
    let domains: Vec<&str> = match requested {
        Some(domain) => vec![known_domain(registry, domain)?],
        None if is_folder && args.version.is_none() => registry.domains().collect(),
        None => vec![""],
    };
    for domain in domains {
        let path = match is_folder {
            true => {
                let ending = args.to.unwrap_or(Form::Text).ending();
                out.join(format!("{}.{ending}", domain_text(domain)))
            }
            false => out.to_owned(),
        };
        let target = OutputTarget::new(&path);
        let Some(form) = args
            .to
            .or_else(|| Form::of_name(&path))
            .or((target == OutputTarget::Stdout).then_some(Form::Text))
        else {
            bail!(
                "output format of {} unknown: add `--to text`, `binary`, `json` or `textproto`",
                target.name()
            )
        };
        let is_shown = target == OutputTarget::Stdout && form == Form::Binary && output::is_terminal();
        ensure!(!is_shown, "refusing to write binary data to a terminal: name a file");
        let version = args.version.map(u32::try_from).transpose()?;
        let file = OperatorSetFile { set: document(registry, domain, version), diagnostics: Vec::new() };
        let content = match file.write(form, &RaiseOptions::default())? {
            Ok(content) => content,
            Err(diagnostic) => bail!("{}", diagnostic.message),
        };
        match &target {
            // The names in a folder are ours.
            OutputTarget::File(path) if is_folder => {
                output::derived(Derived::beside(path, is_operator_set), |out| out.write_all(&content))?;
            }
            OutputTarget::File(_) | OutputTarget::Stdout => output::put(&target, None, &content)?,
        }
        if let OutputTarget::File(path) = &target {
            session.note(&format!("wrote {}", path.display()));
        }
    }
    Ok(Status::Clean)
}

/// Whether a file is a document of operators.
fn is_operator_set(file: &mut File) -> io::Result<bool> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(matches!(Input::of(bytes.into()).document(), Some(Document::OperatorSet(_))))
}
