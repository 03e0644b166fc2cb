//! Writes a model to a file.
//!
//! Inline weights stay in the model. If the result is text, large weights are written to a file beside it, with a mark that
//! allows restoring them byte for byte. External weights of a binary model stay external unless [`SaveOptions::weights`] requests
//! otherwise.

use crate::error::Error;
use crate::files::{Guard, Moved, Reads, WriteModel, locations, may_put, plain, put, resolve};
use crate::loaded::Loaded;
use crate::source::{Form, undecodable};
use crate::text::Text;
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_proto::external::{self, DataFile, Folder, Layout, Which, externalize, internalize, relocate};
use onnx_proto::{FileKind, FormatError};
use onnx_text::{Profile, RaiseOptions};
use std::io::{self, Write};
use std::path::Path;

/// Where the weights of a model are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Weights {
    /// All in the result itself
    Inline,
    /// In one file beside the result, but for small ones
    Sidecar,
    /// In a folder beside the result, each in a file of its own, but for small ones
    Files,
    /// Where they are
    Keep,
}

/// Larger tensors are written to a file beside a text.
pub const LARGE: u64 = 16 << 10;
/// [`Weights::Sidecar`] and [`Weights::Files`] leave smaller tensors inline, as the Python package does.
const SMALL: u64 = 1 << 10;

/// Options of writing a model.
#[derive(Clone, Debug, Default)]
pub struct SaveOptions {
    /// The form; `None`: determined by the name of the file.
    pub form: Option<Form>,
    /// Where weights are written; `None`: large weights of a text go beside it, others stay where they are.
    pub weights: Option<Weights>,
    /// The syntax that a text may use.
    pub profile: Profile,
    /// Whether a text keeps the layout of the file that the model is from where that was not edited
    /// ([`Loaded::text_as_laid_out`]); in the syntax of [`Profile::Onnx`] alone.
    pub keeps_layout: bool,
    /// Whether the checksums of external weights are compared when they are read. Those of a text are always compared.
    pub verify_checksums: bool,
    /// Files that must not be replaced, besides those of the model.
    pub reads: Reads,
    /// Whether a model is written of which parts could not be read ([`Loaded::is_partial`]): those are lost.
    pub partial: bool,
    /// Called with the numbers of bytes that are written to files, of weights as well, to show how far it is.
    pub progress: Option<fn(u64)>,
}

/// The outcome of writing a model.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use = "some of the model may not have been written"]
pub struct Saved {
    /// Whether a result was written. Otherwise `losses` are errors.
    pub is_written: bool,
    /// Losses: what the form cannot express.
    pub losses: Vec<Diagnostic>,
    /// Whether the reference parser refuses the text.
    pub is_extended: bool,
    /// Locations and sizes of the weight files that were written beside the model.
    pub beside: Vec<(String, u64)>,
}

/// The model and the files to write.
struct Arranged {
    form: Form,
    /// The files beside the model.
    files: Vec<DataFile>,
    /// Files that must not be replaced.
    reads: Reads,
}

impl Loaded {
    /// Writes the model to a file, in the form given by its name, atomically.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if parts of the model could not be read ([`SaveOptions::partial`] writes the others), the name does not
    /// determine a form, or a file would be replaced that does not belong to the model;
    /// [`Error::Model`] if weights cannot be read, or the form cannot express the model.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let saved = self.save_with(path.as_ref(), &SaveOptions::default())?;
        if saved.is_written { Ok(()) } else { Err(Error::Model(saved.losses)) }
    }

    /// The same with options. If weights are read or moved, the model refers to their new locations afterwards.
    ///
    /// # Errors
    ///
    /// See [`save`](Self::save).
    pub fn save_with(&mut self, path: &Path, options: &SaveOptions) -> Result<Saved, Error> {
        self.deliver(Some(path), &mut io::sink(), options)
    }

    /// Writes the model to a stream; weights cannot go beside it.
    ///
    /// # Errors
    ///
    /// See [`save`](Self::save).
    pub fn write_to(&mut self, out: &mut dyn Write, options: &SaveOptions) -> Result<Saved, Error> {
        self.deliver(None, out, options)
    }

    /// Whether [`save_with`](Self::save_with) may write the model and the files beside it now, for programs that work for a long
    /// time before they save what the model has become. Nothing is written.
    ///
    /// # Errors
    ///
    /// See [`save`](Self::save).
    pub fn ensure_writable(&self, path: &Path, options: &SaveOptions) -> Result<(), Error> {
        // Weights are shared, not copied.
        let mut trial = self.clone();
        let Arranged { files, reads, .. } = trial.arrange(Some(path), options)?;
        may_put(path, trial.guard(path, &reads, options), &files)
    }

    /// The model as text.
    #[must_use]
    pub fn text(&self) -> String {
        Text::commented(&self.model, &RaiseOptions::default(), &self.comments()).to_text()
    }

    fn deliver(
        &mut self,
        path: Option<&Path>,
        out: &mut dyn Write,
        options: &SaveOptions,
    ) -> Result<Saved, Error> {
        let Arranged { form, files, reads } = self.arrange(path, options)?;
        let to = path.map(|path| (path, self.guard(path, &reads, options)));
        self.write(to, out, form, &files, options)
    }

    /// Moves weights to where they will be written.
    fn arrange(&mut self, path: Option<&Path>, options: &SaveOptions) -> Result<Arranged, Error> {
        if self.is_partial() && !options.partial {
            return Err(self.parts_would_be_lost());
        }
        let form = options.form.or_else(|| path.and_then(Form::of_name));
        let form = match (form, path) {
            (Some(form), _) => form,
            (None, None) => Form::Text,
            (None, Some(path)) => {
                let name = path.display();
                return Err(Error::Refused(format!("the name of {name} does not say which form to write")));
            }
        };
        let mut reads = options.reads.clone();
        if let Some(own) = &self.file().path {
            reads.note(own);
            // Including files that stay in place.
            reads.note_external(&self.model, own);
        }
        let files = self.place_weights(path, form, options, &mut reads)?;
        Ok(Arranged { form, files, reads })
    }

    /// The files that must not be replaced when the model is written to a path.
    fn guard<'r>(&self, path: &Path, reads: &'r Reads, options: &SaveOptions) -> Guard<'r> {
        let guard = Guard::new(reads).reporting(options.progress);
        // Replacing the input was requested, including its own weights.
        let is_own = self.file().path.as_deref().is_some_and(|own| is_same(path, own));
        if is_own { guard.even_read() } else { guard }
    }

    /// The error for a model that is known in part.
    fn parts_would_be_lost(&self) -> Error {
        let name = &self.file().name;
        let why = self.lost_parts().first().map(|first| format!(": {first}")).unwrap_or_default();
        Error::Refused(format!("parts of {name} could not be read and would be lost{why}"))
    }

    /// Moves weights to the requested locations.
    fn place_weights(
        &mut self,
        to: Option<&Path>,
        form: Form,
        options: &SaveOptions,
        reads: &mut Reads,
    ) -> Result<Vec<DataFile>, Error> {
        let is_text = form == Form::Text;
        let take = match options.weights {
            Some(Weights::Keep) => None,
            Some(Weights::Inline) => Some(Which::All),
            Some(Weights::Sidecar | Weights::Files) if !is_text => Some(Which::All),
            // External weights stay external; otherwise a text could not be converted back.
            Some(Weights::Sidecar | Weights::Files) | None => Some(Which::Marked),
        };
        let own = self.file().path.clone();
        // The weights beside a text may belong to another text.
        let is_summed = options.verify_checksums || self.file().form == Form::Text;
        let model = &mut self.model;
        if let Some(which) = take {
            let is_needed = if which == Which::All {
                external::is_stored_outside(model)
            } else {
                external::has_marks(model)
            };
            let own = match &own {
                Some(own) => own.as_path(),
                None if !is_needed => Path::new(""),
                None => {
                    let name = &self.file().name;
                    return Err(Error::Refused(format!(
                        "weights are in files beside the model, and {name} has none"
                    )));
                }
            };
            let mut folder = Folder::of(own);
            let found = internalize(model, which, &mut |model, tensor, entity| {
                folder.load(model, tensor, entity, is_summed)
            });
            reads.note_read(&folder);
            if !found.is_empty() {
                return Err(Error::Model(found));
            }
        }
        let at_least = match options.weights {
            Some(Weights::Sidecar | Weights::Files) => SMALL,
            None if is_text && to.is_some() => LARGE,
            None | Some(Weights::Inline | Weights::Keep) => return Ok(Vec::new()),
        };
        let Some(path) = to else {
            return Err(Error::refused(
                "weights cannot go beside a stream: write a file, or keep weights inline",
            ));
        };
        let shown = path.display();
        let resolved = resolve(path).map_err(|error| Error::write(&shown.to_string(), error))?;
        let Some(name) = resolved.file_name().and_then(|name| name.to_str()) else {
            // A model without large weights needs no name for them.
            if externalize(&mut model.clone(), at_least, Layout::One(""), is_text).is_empty() {
                return Ok(Vec::new());
            }
            return Err(Error::Refused(format!(
                "the weights cannot go beside {shown}: its name is not UTF-8, so the model cannot refer to them"
            )));
        };
        let (data, folder) = (format!("{name}.data"), format!("{name}.weights"));
        let layout = match options.weights {
            Some(Weights::Files) => Layout::Each(&folder),
            Some(Weights::Sidecar | Weights::Inline | Weights::Keep) | None => Layout::One(&data),
        };
        let own = [Path::new(&data), Path::new(&folder)];
        if locations(model).any(|location| own.iter().any(|own| plain(location).starts_with(own))) {
            return Err(Error::Refused(format!(
                "the model has weights in {data} already, which would be replaced: choose another name"
            )));
        }
        Ok(externalize(model, at_least, layout, is_text))
    }

    fn write(
        &self,
        to: Option<(&Path, Guard<'_>)>,
        out: &mut dyn Write,
        form: Form,
        files: &[DataFile],
        options: &SaveOptions,
    ) -> Result<Saved, Error> {
        let profile = options.profile;
        let keeps_layout = options.keeps_layout && profile == Profile::Onnx;
        let mut out = out;
        let mut deliver = |write: &WriteModel<'_>| match to {
            Some((path, guard)) => put(path, guard, files, write),
            None => {
                write(&[], &mut out).and_then(|()| out.flush()).map_err(|error| Error::write("stdout", error))
            }
        };
        let size = |file: &DataFile| file.chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum();
        let beside = files.iter().map(|file| (file.location.clone(), size(file))).collect();
        let mut saved = Saved { is_written: true, beside, ..Saved::default() };
        if form == Form::Text {
            let visible = to.is_none() && profile == Profile::Onnx;
            let options = RaiseOptions { profile, visible, ..RaiseOptions::default() };
            let comments = self.comments();
            let text = Text::commented(&self.model, &options, &comments);
            saved.losses = text.losses().to_vec();
            saved.is_extended = text.is_extended();
            if text.is_lost() {
                saved.is_written = false;
                saved.losses.iter_mut().for_each(Diagnostic::deny);
                return Ok(saved);
            }
            let printed = |text: &Text, out: &mut dyn Write| {
                if keeps_layout {
                    out.write_all(self.laid_out(text.to_text()).as_bytes())
                } else {
                    text.write(out)
                }
            };
            deliver(&|moved, out| match moved {
                [] => printed(&text, out),
                _ => printed(&Text::commented(&relocated(&self.model, moved), &options, &comments), out),
            })?;
            return Ok(saved);
        }
        let encoded = onnx_proto::write(&self.model).map_err(|error| {
            Error::Refused(format!("{error}: put the weights into a file of their own (--weights sidecar)"))
        })?;
        let content =
            document(form, encoded).map_err(|error| Error::Model(vec![undecodable(form, &error)]))?;
        deliver(&|moved, out| {
            if moved.is_empty() {
                return out.write_all(&content);
            }
            let encoded = onnx_proto::write(&relocated(&self.model, moved)).map_err(io::Error::other)?;
            out.write_all(&document(form, encoded).map_err(|error| io::Error::other(error.message))?)
        })?;
        Ok(saved)
    }
}

/// Whether two paths are the same file.
fn is_same(a: &Path, b: &Path) -> bool {
    let is_same_path = matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
    let id = |path: &Path| path.metadata().ok().and_then(|metadata| crate::files::id(&metadata));
    is_same_path || id(a).is_some_and(|file| Some(file) == id(b))
}

/// Converts a model from wire format to a form.
fn document(to: Form, encoded: Vec<u8>) -> Result<Vec<u8>, FormatError> {
    match to {
        Form::Text | Form::Binary => Ok(encoded),
        Form::Json => onnx_proto::json::to_json(&encoded, FileKind::Model).map(String::into_bytes),
        Form::Textproto => onnx_proto::textproto::to_text(&encoded, FileKind::Model).map(String::into_bytes),
    }
}

/// The model with renamed weight files.
fn relocated(model: &Model, moved: &[Moved]) -> Model {
    let mut model = model.clone();
    moved.iter().for_each(|Moved { from, to }| relocate(&mut model, from, to));
    model
}
