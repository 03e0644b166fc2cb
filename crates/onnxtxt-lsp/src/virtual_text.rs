//! Binary models as text documents of their own scheme, and explanations of codes.
//!
//! ```text
//! onnxtxt:/folder/model.onnx      the text of a model; large weights are references ["location": "kept-0"]
//! onnxtxt:explain/E0203           what a code means
//! ```
//!
//! `workspace/textDocumentContent` and the request `onnxtxt/text` read them; `onnxtxt/write` writes an edited text back.

use crate::answer::{Answer, Failure};
use crate::uri;
use gen_lsp_types::Uri;
use onnx_text::RaiseOptions;
use onnxtxt::edit::{KeptWeights, new_errors};
use onnxtxt::ir::Model;
use onnxtxt::ir::diag::{self, Code, Diagnostic};
use onnxtxt::{File, Form, Loaded, SaveOptions, Text};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The scheme of the documents.
pub(crate) const SCHEME: &str = "onnxtxt";

const EXPLAIN: &str = "onnxtxt:explain/";

/// Parameters of `onnxtxt/text`: a document of the scheme, or a file.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TextParams {
    uri: String,
}

/// Parameters of `onnxtxt/write`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct WriteParams {
    uri: String,
    text: String,
}

impl TextParams {
    pub(crate) fn uri(&self) -> Uri {
        Uri(self.uri.clone())
    }
}

/// The document that explains a code.
pub(crate) fn explanation(code: &Code) -> Uri {
    Uri(format!("{EXPLAIN}{}", code.id))
}

/// The file of a document: of the scheme, or a file itself.
pub(crate) fn path_of(document: &Uri) -> Option<PathBuf> {
    let file = match document.0.strip_prefix("onnxtxt:") {
        Some(rest) => format!("file://{}", rest.strip_prefix("//").unwrap_or(rest)),
        None => document.0.clone(),
    };
    uri::path_of(&Uri(file))
}

/// The text of a document.
pub(crate) fn text(document: &Uri) -> Answer<String> {
    if let Some(id) = document.0.strip_prefix(EXPLAIN) {
        let code = diag::find(id).ok_or_else(|| Failure(format!("unknown code `{id}`")))?;
        return Ok(format!("{}[{}] {}\n\n{}", code.severity.name(), code.id, code.name, code.explain));
    }
    let (_, model, _) = open(document)?;
    Ok(Text::new(&model, &RaiseOptions::default()).to_text())
}

/// The model of a document with its weights, and the model whose text is shown.
fn open(document: &Uri) -> Answer<(Loaded, Model, KeptWeights)> {
    let path = path_of(document).ok_or_else(|| Failure(format!("{} is not a file", document.0)))?;
    let loaded = onnxtxt::open(&path).map_err(|error| Failure(described(&error)))?;
    if let Some(error) = loaded.lost_parts().first() {
        return Err(Failure(format!("{}: {error}", path.display())));
    }
    let (kept, model) = KeptWeights::of(&loaded.model);
    Ok((loaded, model, kept))
}

/// Writes the model of an edited text in place of the file of a document. A text with errors that the model did not have is refused.
pub(crate) fn write(params: &WriteParams) -> Answer<Value> {
    let document = Uri(params.uri.clone());
    let path = path_of(&document).ok_or_else(|| Failure(format!("{} is not a file", document.0)))?;
    let (old, _, kept) = open(&document)?;
    if old.file().form == Form::Text {
        return Err(Failure(format!("{} is a text: save the document", path.display())));
    }
    let model = edited(&old, &params.text, &kept, &path)?;
    let mut new = old.became(model);
    let saved = new.save_with(&path, &options(&old)).map_err(|error| Failure(described(&error)))?;
    match saved.losses.first() {
        Some(error) if !saved.is_written => Err(Failure(error.to_string())),
        _ => Ok(json!({ "written": path.display().to_string() })),
    }
}

/// The options that replace the file itself, in its form.
fn options(old: &Loaded) -> SaveOptions {
    SaveOptions { form: Some(old.file().form), ..SaveOptions::default() }
}

/// The model of an edited text, with the weights that stayed out of it.
fn edited(old: &Loaded, text: &str, kept: &KeptWeights, path: &Path) -> Answer<Model> {
    let mut file = File::new(path.display().to_string(), Some(path.to_owned()), text.to_owned().into());
    file.form = Form::Text;
    let mut new = file.load();
    let refused = |found: &[Diagnostic]| {
        let error = found.iter().find(|found| found.is_error());
        error.map_or(Ok(()), |error| Err(Failure(error.to_string())))
    };
    refused(&new.diagnostics)?;
    refused(&kept.put_back(&mut new.model))?;
    refused(&new_errors(&old.model, &new.model).0)?;
    Ok(new.model)
}

fn described(error: &onnxtxt::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) <float[40] w> { y = Relu(x) }";

    fn binary(folder: &Path) -> PathBuf {
        let numbers: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        let text = MODEL.replace("<float[40] w>", &format!("<float[40] w = {{{}}}>", numbers.join(", ")));
        let path = folder.join("m.onnx");
        onnxtxt::parse(&text).save(&path).unwrap();
        path
    }

    #[test]
    fn binary_models_are_read_edited_and_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = binary(folder.path());
        let uri = Uri(uri::of_path(&path).0.replace("file://", "onnxtxt:"));
        let shown = text(&uri).unwrap();
        assert!(
            shown.contains("kept-0") && shown.contains("y = Relu (x)") || shown.contains("y = Relu(x)"),
            "{shown}"
        );
        let params = |text: String| WriteParams { uri: uri.0.clone(), text };
        write(&params(shown.replace("Relu", "Abs"))).unwrap();
        let now = onnxtxt::open(&path).unwrap();
        assert!(now.text().contains("Abs") && now.text().contains("39"), "{}", now.text());
        let error =
            write(&params(shown.replace("Relu(x)", "Relu(q)").replace("Relu (x)", "Relu(q)"))).unwrap_err().0;
        assert!(error.contains("undefined value `q`"), "{error}");
        assert!(write(&params(shown.replace('}', ""))).is_err());
        assert!(onnxtxt::open(&path).unwrap().text().contains("Abs"));
    }

    #[test]
    fn codes_have_documents() {
        let found = text(&explanation(&diag::code::VALUE_UNDEFINED)).unwrap();
        assert!(found.starts_with("error[E0203] value-undefined"), "{found}");
        assert_eq!(text(&Uri("onnxtxt:explain/E9999".to_owned())).unwrap_err().0, "unknown code `E9999`");
        assert!(text(&Uri("untitled:1".to_owned())).unwrap_err().0.contains("is not a file"));
    }
}
