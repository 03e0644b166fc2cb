//! Settings of the client and the folder: which findings are reported, and which hints are shown.

use onnxtxt::check::{CheckOptions, Filter, TargetRuntime};
use onnxtxt::ops::schema::Registry;
use serde::Deserialize;
use std::sync::Arc;

/// The settings of a document.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The level of the check, and which of its findings are reported.
    pub check: Filter,
    /// Runtimes for which nodes that they do not support are reported.
    pub targets: Vec<&'static TargetRuntime>,
    /// The greatest line length of formatted text.
    pub line_width: usize,
    /// The operators, if operator-set documents add some.
    pub registry: Option<Arc<Registry>>,
    /// Which hints are shown.
    pub hints: Hints,
}

impl Default for Settings {
    fn default() -> Self {
        let line_width = onnx_text::FormatOptions::default().width;
        Settings {
            check: Filter::default(),
            targets: Vec::new(),
            line_width,
            registry: None,
            hints: Hints::default(),
        }
    }
}

/// Which hints are shown in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hints {
    /// The inferred types of results.
    pub types: bool,
    /// The names of the parameters of operators.
    pub parameters: bool,
}

impl Default for Hints {
    fn default() -> Self {
        Hints { types: true, parameters: true }
    }
}

impl Settings {
    /// The options of a check.
    pub(crate) fn options(&self) -> CheckOptions<'_> {
        CheckOptions {
            filter: self.check.clone(),
            targets: self.targets.clone(),
            registry: self.registry.as_deref(),
            ..CheckOptions::default()
        }
    }
}

/// The object that a client sends as `initializationOptions` and in `workspace/didChangeConfiguration`, there below `onnxtxt`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ClientSettings {
    /// `syntax`, `spec`, `types` or `strict`.
    pub(crate) level: Option<String>,
    pub(crate) inlay_hints: Hints,
    /// Milliseconds after a change until operators and types are checked.
    pub(crate) pause: Option<u64>,
    /// Whether models of the folder may be run and tests accepted without asking.
    pub(crate) trusted: bool,
}

impl ClientSettings {
    /// The settings in a JSON value; unknown keys are ignored, because clients send their own.
    pub(crate) fn read(value: &serde_json::Value) -> Result<ClientSettings, String> {
        let value = value.get("onnxtxt").unwrap_or(value);
        if value.is_null() {
            return Ok(ClientSettings::default());
        }
        ClientSettings::deserialize(value).map_err(|error| format!("settings of the client: {error}"))
    }
}
