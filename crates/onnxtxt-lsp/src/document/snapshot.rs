//! A version of a document with what is derived from it. Each part is computed when it is needed first and shared by all requests.

use super::embedded::{Host, blanked};
use super::lines::{Encoding, LineTable};
use crate::settings::Settings;
use bytes::Bytes;
use gen_lsp_types::{Location, Position, Range, TextEdit, Uri};
use onnx_text::{
    Checked, NamedNumbers, ReadStatements, Readers, SourceIndex, SourceMap, TextKind, TextNames, TextToken,
    ast, sniff_text,
};
use onnxtxt::ir::diag::{Diagnostic, Edit, Level, Parsed, Place, Span};
use onnxtxt::ir::{Model, VerifyOptions};
use onnxtxt::ops::infer::{Facts, InferOptions, infer};
use onnxtxt::ops::opset::registry_of;
use onnxtxt::ops::schema::Registry;
use onnxtxt::{File, check::Filter};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// One version of a document.
#[derive(Debug)]
pub struct Snapshot {
    uri: Uri,
    version: i32,
    text: Arc<String>,
    lines: Arc<LineTable>,
    settings: Arc<Settings>,
    kind: TextKind,
    read: OnceLock<Parsed<Checked>>,
    /// The places that were asked for.
    places: SourceIndex,
    tokens: OnceLock<Vec<TextToken>>,
    names: OnceLock<TextNames>,
    facts: OnceLock<AllFacts>,
    syntax_findings: OnceLock<Vec<Diagnostic>>,
    findings: OnceLock<Vec<Diagnostic>>,
    /// The last version that was read as a whole, changed to this one.
    known: Arc<ReadStatements>,
    /// The knowledge about this version, once it was read.
    statements: OnceLock<Arc<ReadStatements>>,
    /// The texts in it, if it is a file of another language.
    embedded: OnceLock<Vec<Arc<Snapshot>>>,
    /// Whether it is such a text itself.
    is_embedded: bool,
}

/// The results of a version that is gone.
#[derive(Debug, Default)]
pub struct Remains {
    _read: Option<Parsed<Checked>>,
    _names: Option<TextNames>,
    _facts: Option<AllFacts>,
}

/// Facts, which are simplified when they are read.
struct AllFacts(Mutex<Facts>);

impl std::fmt::Debug for AllFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AllFacts")
    }
}

/// The text of a document as the bytes of a file, without a copy.
struct SharedText(Arc<String>);

impl AsRef<[u8]> for SharedText {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Snapshot {
    pub(crate) fn new(
        uri: Uri,
        version: i32,
        text: Arc<String>,
        lines: Arc<LineTable>,
        settings: Arc<Settings>,
        known: Arc<ReadStatements>,
    ) -> Self {
        let kind = sniff_text(&text);
        Snapshot {
            uri,
            version,
            text,
            lines,
            settings,
            kind,
            read: OnceLock::new(),
            places: SourceIndex::default(),
            tokens: OnceLock::new(),
            names: OnceLock::new(),
            facts: OnceLock::new(),
            syntax_findings: OnceLock::new(),
            findings: OnceLock::new(),
            known,
            statements: OnceLock::new(),
            embedded: OnceLock::new(),
            is_embedded: false,
        }
    }

    /// A snapshot of a text alone, for tests and for files that are not open.
    #[must_use]
    pub fn of_text(uri: Uri, text: String, encoding: Encoding, settings: Arc<Settings>) -> Self {
        let lines = Arc::new(LineTable::new(&text, encoding));
        Snapshot::new(uri, 0, Arc::new(text), lines, settings, Arc::default())
    }

    /// The texts in a file of another language: Markdown, Python. `None` for ONNX text itself.
    pub(crate) fn embedded(&self) -> Option<&[Arc<Snapshot>]> {
        let host = Host::of(&self.uri.0).filter(|_| !self.is_embedded)?;
        let make = || {
            let regions = host.regions(&self.text).into_iter();
            let snapshot = |region: super::embedded::Region| {
                let text = blanked(&self.text, &region.range, self.lines.encoding());
                let mut settings = (*self.settings).clone();
                if !region.is_model {
                    settings.check.level = Level::Syntax;
                }
                let lines = LineTable::new(&text, self.lines.encoding());
                let (uri, version) = (self.uri.clone(), self.version);
                let (text, lines, settings) = (Arc::new(text), Arc::new(lines), Arc::new(settings));
                let snapshot = Snapshot::new(uri, version, text, lines, settings, Arc::default());
                Arc::new(Snapshot { is_embedded: true, ..snapshot })
            };
            regions.map(snapshot).collect()
        };
        Some(self.embedded.get_or_init(make))
    }

    /// The text at a position of a file of another language.
    pub(crate) fn embedded_at(&self, position: Position) -> Option<Arc<Snapshot>> {
        let has = |embedded: &&Arc<Snapshot>| {
            let text = embedded.text();
            let (start, end) = (text.len() - text.trim_start().len(), text.trim_end().len());
            let at = embedded.offset(position) as usize;
            start <= at && at <= end
        };
        self.embedded()?.iter().find(has).cloned()
    }

    /// The address of the document.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The version that the client gave.
    #[must_use]
    pub fn version(&self) -> i32 {
        self.version
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The settings that apply to it.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The path of the file, if the document is one.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        crate::uri::path_of(&self.uri)
    }

    /// The kind of the text.
    #[must_use]
    pub fn kind(&self) -> TextKind {
        self.kind
    }

    /// The text as a file of the library.
    pub(crate) fn file(&self) -> File {
        let bytes = Bytes::from_owner(SharedText(Arc::clone(&self.text)));
        let mut file = File::new(self.uri.0.clone(), self.path(), bytes);
        file.form = onnxtxt::Form::Text;
        file
    }

    /// Gives the literals of a model their types.
    fn complete(&self) -> impl Fn(&mut Model, &NamedNumbers) -> bool {
        |model: &mut Model, numbers: &NamedNumbers| {
            let known = self.settings.registry.as_deref();
            let registry = known.unwrap_or_else(|| registry_of(model));
            onnxtxt::ops::literals::complete(model, registry, numbers)
        }
    }

    fn read(&self) -> &Parsed<Checked> {
        let complete = self.complete();
        self.read.get_or_init(|| match self.kind {
            TextKind::Value | TextKind::OperatorSet => {
                Parsed::new(Checked { syntax: Default::default(), model: Model::new() }, Vec::new())
            }
            TextKind::Model => onnx_text::read_completed(&self.text, &complete),
            kind => {
                onnx_text::check_part_completed(&self.text, kind, Level::Syntax, &complete, |_| Vec::new())
            }
        })
    }

    /// Whether the text was read as a whole.
    #[doc(hidden)]
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.read.get().is_some()
    }

    /// Which statements have no findings, once the text was read.
    pub(super) fn read_statements(&self) -> Option<Arc<ReadStatements>> {
        self.statements.get().cloned()
    }

    /// The text with its model, as far as it could be read.
    pub(crate) fn checked(&self) -> &Checked {
        &self.read().value
    }

    /// The tree, as much of it as could be built.
    #[must_use]
    pub fn tree(&self) -> &ast::File {
        &self.read().value.syntax.tree
    }

    /// The comments that are not annotations.
    pub(crate) fn comments(&self) -> &[Span] {
        &self.read().value.syntax.comments
    }

    /// The model, as far as the text could be read.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.read().value.model
    }

    /// Finds entities of the model in the text, and the other way round.
    #[must_use]
    pub fn map(&self) -> SourceMap<'_> {
        SourceMap::with_index(&self.text, self.tree(), self.model(), &self.places)
    }

    /// The tokens.
    #[must_use]
    pub fn tokens(&self) -> &[TextToken] {
        self.tokens.get_or_init(|| onnx_text::text_tokens(&self.text))
    }

    /// The names.
    #[must_use]
    pub fn names(&self) -> &TextNames {
        self.names.get_or_init(|| TextNames::new(&self.text, self.tree()))
    }

    /// The known operators: those of the settings and those that the model may use.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        self.settings.registry.as_deref().unwrap_or_else(|| registry_of(self.model()))
    }

    /// The inferred types of all values.
    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        let facts = self.facts.get_or_init(|| {
            AllFacts(Mutex::new(infer(self.model(), self.registry(), &InferOptions::default()).facts))
        });
        facts.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The findings that need no operators and types, which take a fraction of the time: where statements were edited, those alone are
    /// read.
    #[must_use]
    pub fn syntax_findings(&self) -> &[Diagnostic] {
        self.syntax_findings.get_or_init(|| {
            let options = VerifyOptions { level: Level::Syntax, ..VerifyOptions::default() };
            let found = match self.kind {
                TextKind::Value => onnx_text::check_value(&self.text, &options).diagnostics,
                TextKind::OperatorSet => onnx_text::check_operator_set(&self.text, &options).diagnostics,
                TextKind::Model => {
                    let of_edited = || self.known.syntax_findings(&self.text, &self.complete());
                    let is_read = self.read.get().is_some();
                    (!is_read).then(of_edited).flatten().unwrap_or_else(|| {
                        onnx_text::check_read(
                            Readers::Ours,
                            &self.text,
                            self.read_statement_by_statement(),
                            Level::Syntax,
                            |_| Vec::new(),
                        )
                    })
                }
                _ => self.read().diagnostics.clone(),
            };
            self.filter().apply(found)
        })
    }

    /// The model, whose statements are known from now on.
    fn read_statement_by_statement(&self) -> &Parsed<Checked> {
        let read = self.read();
        self.statements.get_or_init(|| Arc::new(ReadStatements::of(&self.text, read)));
        read
    }

    /// The findings of the level of the settings.
    #[must_use]
    pub fn findings(&self) -> &[Diagnostic] {
        self.findings.get_or_init(|| {
            let options = VerifyOptions { level: self.settings.check.level, ..VerifyOptions::default() };
            let found = match self.kind {
                TextKind::Value => onnx_text::check_value(&self.text, &options).diagnostics,
                TextKind::OperatorSet => onnx_text::check_operator_set(&self.text, &options).diagnostics,
                TextKind::Model => self.model_findings(),
                _ => self.file().part().map_or_else(Vec::new, |part| part.check(options.level)),
            };
            self.filter().apply(found)
        })
    }

    /// All findings about a model. What inference finds out is kept for other requests; long lists of numbers that were not edited are not
    /// read again.
    fn model_findings(&self) -> Vec<Diagnostic> {
        let (file, options, level) = (self.file(), self.settings.options(), self.settings.check.level);
        if self.read.get().is_none() {
            let judge = |model: &Model| options.judge(&file, model).0;
            if let Some((found, statements)) = self.known.findings(&self.text, level, &self.complete(), judge)
            {
                self.statements.get_or_init(|| Arc::new(statements));
                return found;
            }
        }
        let read = self.read_statement_by_statement();
        let judge = |model: &Model| {
            let (found, facts) = options.judge(&file, model);
            if let Some(facts) = facts.filter(|_| std::ptr::eq(model, &read.value.model)) {
                self.facts.get_or_init(|| AllFacts(Mutex::new(facts)));
            }
            found
        };
        onnx_text::check_read(Readers::Ours, &self.text, read, level, judge)
    }

    /// The results for the text, without the text.
    pub(super) fn into_remains(self) -> Remains {
        Remains {
            _read: self.read.into_inner(),
            _names: self.names.into_inner(),
            _facts: self.facts.into_inner(),
        }
    }

    fn filter(&self) -> &Filter {
        &self.settings.check
    }

    /// The span of a place.
    #[must_use]
    pub fn span_of(&self, place: Place, map: &SourceMap<'_>) -> Option<Span> {
        match place {
            Place::Source(span) => Some(span),
            Place::Entity(entity) => map.span(entity),
            Place::Nowhere => None,
        }
    }

    /// The position of a byte.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        self.lines.position(&self.text, offset)
    }

    /// The range of a span.
    #[must_use]
    pub fn range(&self, span: Span) -> Range {
        Range { start: self.position(span.start), end: self.position(span.end) }
    }

    /// The range of a span in this document, with its address.
    #[must_use]
    pub fn location(&self, span: Span) -> Location {
        Location { uri: self.uri.clone(), range: self.range(span) }
    }

    /// The byte at a position.
    #[must_use]
    pub fn offset(&self, position: Position) -> u32 {
        self.lines.offset(&self.text, position)
    }

    /// The span of a range.
    #[must_use]
    pub fn span(&self, range: Range) -> Span {
        let start = self.offset(range.start);
        Span::new(start, self.offset(range.end).max(start))
    }

    /// The lines of the text.
    #[must_use]
    pub fn lines(&self) -> &LineTable {
        &self.lines
    }

    /// The text of a span.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// An edit of the protocol.
    #[must_use]
    pub fn edit(&self, edit: &Edit) -> TextEdit {
        TextEdit { range: self.range(edit.span), new_text: edit.text.clone() }
    }
}
