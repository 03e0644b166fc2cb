//! `onnxtxt.toml`: how the models of a folder are checked and formatted, for the program and for editors.
//!
//! ```toml
//! level = "strict"            # syntax, spec, types (the default) or strict
//! allow = ["unused"]          # codes that are not reported, as `check --ignore` takes them
//! deny = ["warnings"]         # codes whose warnings are errors; all warnings
//! targets = ["ort"]           # runtimes for which nodes that they do not support are reported
//! line-width = 100            # of formatted text
//! opsets = ["acme.onnxtxt"]   # operator sets, below the folder of this file
//! ```
//!
//! The file of the nearest folder around a model applies, alone.

use crate::Error;
use crate::check::{CodePattern, Filter, TargetRuntime};
use onnx_ir::diag::{Diagnostic, Level, counted};
use onnx_ops::opset::{LoadedSet, contributed_sets, load};
use onnx_ops::schema::Registry;
use onnx_ops::targets;
use serde::Deserialize;
use std::fs;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// The name of the file.
pub const CONFIG_FILE: &str = "onnxtxt.toml";

/// The largest file that is read; a configuration has a few lines.
const MAX_BYTES: u64 = 1 << 20;

/// The configuration of a folder.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The file; `None` for a configuration that a program makes.
    pub path: Option<PathBuf>,
    /// The level of checks.
    pub level: Option<Level>,
    /// Codes that are not reported.
    pub allow: Vec<CodePattern>,
    /// Codes whose warnings become errors.
    pub deny: Vec<CodePattern>,
    /// Whether all warnings become errors.
    pub deny_warnings: bool,
    /// Runtimes for which nodes that they do not support are reported.
    pub targets: Vec<&'static TargetRuntime>,
    /// The greatest line length of formatted text.
    pub line_width: Option<usize>,
    /// Operator sets.
    pub opsets: Vec<PathBuf>,
}

/// A mistake in a configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    /// The message, lower case, without a full stop.
    pub message: String,
    /// The bytes of the file that it is about; empty if none are.
    pub span: Range<usize>,
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
#[derive(Default)]
struct Written {
    level: Option<toml::Spanned<String>>,
    allow: Vec<toml::Spanned<String>>,
    deny: Vec<toml::Spanned<String>>,
    targets: Vec<toml::Spanned<String>>,
    line_width: Option<toml::Spanned<u32>>,
    opsets: Vec<toml::Spanned<String>>,
}

/// The line widths that are allowed: narrower text has a name in each line.
const WIDTHS: Range<u32> = 20..10_000;

impl Config {
    /// Reads a configuration; operator sets are below `folder`.
    ///
    /// ```
    /// use onnxtxt::config::Config;
    /// use onnxtxt::Level;
    ///
    /// let config = Config::parse("level = \"strict\"\nallow = [\"unused\"]", "models".as_ref()).unwrap();
    /// assert_eq!(config.level, Some(Level::Strict));
    /// let error = Config::parse("levle = 1", "models".as_ref()).unwrap_err();
    /// assert!(error.message.contains("unknown field `levle`"), "{error}");
    /// ```
    ///
    /// # Errors
    ///
    /// The first mistake.
    pub fn parse(text: &str, folder: &Path) -> Result<Config, ConfigError> {
        let written: Written = toml::from_str(text).map_err(|error| ConfigError {
            message: error.message().trim_end().replace('\n', ", "),
            span: error.span().unwrap_or_default(),
        })?;
        let mut config = Config::default();
        if let Some(level) = written.level {
            let message =
                format!("unknown level `{}`: expected syntax, spec, types or strict", level.get_ref());
            config.level = Some(Level::named(level.get_ref()).ok_or_else(|| at(&level, message))?);
        }
        config.allow = patterns(&written.allow)?;
        let (warnings, deny): (Vec<_>, Vec<_>) =
            written.deny.into_iter().partition(|key| key.get_ref() == "warnings");
        config.deny = patterns(&deny)?;
        config.deny_warnings = !warnings.is_empty();
        for name in &written.targets {
            let known: Vec<&str> = targets::targets().iter().map(|target| target.name).collect();
            let message =
                format!("unknown runtime `{}`: expected one of {}", name.get_ref(), known.join(", "));
            config.targets.push(TargetRuntime::find(name.get_ref()).ok_or_else(|| at(name, message))?);
        }
        if let Some(width) = written.line_width {
            if !WIDTHS.contains(width.get_ref()) {
                let Range { start, end } = WIDTHS;
                let message =
                    format!("line width {} is out of range ({start} to {})", width.get_ref(), end - 1);
                return Err(at(&width, message));
            }
            config.line_width = usize::try_from(*width.get_ref()).ok();
        }
        for name in &written.opsets {
            let path = Path::new(name.get_ref());
            if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
                let message =
                    format!("operator set `{}` must be below the folder of the file", name.get_ref());
                return Err(at(name, message));
            }
            config.opsets.push(folder.join(path));
        }
        Ok(config)
    }

    /// The configuration of the nearest folder around a file or folder that has one.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has a mistake; the message has its name and line.
    pub fn find(path: &Path) -> Result<Option<Config>, Error> {
        // The folder of a name alone is empty.
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let whole = std::path::absolute(path).map_err(|error| Error::read(path, error))?;
        let Some(file) = whole.ancestors().map(|folder| folder.join(CONFIG_FILE)).find(|file| file.is_file())
        else {
            return Ok(None);
        };
        Config::open(&file).map(Some)
    }

    /// Reads a configuration file.
    ///
    /// # Errors
    ///
    /// It cannot be read, or has a mistake.
    pub fn open(path: &Path) -> Result<Config, Error> {
        let refused = |message: String| Error::Refused(message);
        let length = fs::metadata(path).map_err(|error| Error::read(path, error))?.len();
        if length > MAX_BYTES {
            return Err(refused(format!(
                "{} has {}: expected at most {MAX_BYTES}",
                path.display(),
                counted(length, "byte")
            )));
        }
        let text = fs::read_to_string(path).map_err(|error| Error::read(path, error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let config = Config::parse(&text, folder).map_err(|error| {
            let before = text.get(..error.span.start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            refused(format!("{}:{line}: {error}", path.display()))
        })?;
        Ok(Config { path: Some(path.to_owned()), ..config })
    }

    /// The filter of a check. What a command line asks for can be added to it.
    #[must_use]
    pub fn filter(&self) -> Filter {
        Filter {
            level: self.level.unwrap_or_default(),
            ignore: self.allow.clone(),
            deny: self.deny.clone(),
            deny_warnings: self.deny_warnings,
            ..Filter::default()
        }
    }

    /// All operators: the built-in ones and those of the operator sets. `None`: there are no operator sets.
    ///
    /// # Errors
    ///
    /// An operator set cannot be read, or has errors.
    pub fn registry(&self) -> Result<Option<Registry>, Error> {
        if self.opsets.is_empty() {
            return Ok(None);
        }
        let folder = self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
        let set = |path: &PathBuf| operator_set(folder, path);
        let sets = self.opsets.iter().map(set).collect::<Result<Vec<LoadedSet>, Error>>()?;
        Ok(Some(Registry::with_sets(contributed_sets().map(|set| set as &LoadedSet).chain(&sets))))
    }
}

/// An operator set of a text file below a folder. A link out of the folder is not followed: the folder may be of someone else.
fn operator_set(folder: &Path, path: &Path) -> Result<LoadedSet, Error> {
    let whole = |path: &Path| fs::canonicalize(path).map_err(|error| Error::read(path, error));
    if !whole(path)?.starts_with(whole(folder)?) {
        return Err(Error::Refused(format!("{} is not below {}", path.display(), folder.display())));
    }
    let text = fs::read_to_string(path).map_err(|error| Error::read(path, error))?;
    let (set, found) = onnx_text::read_operator_set(&text).into_parts();
    let refused = |error: &Diagnostic| Error::Refused(format!("{}: {error}", path.display()));
    let loaded = load(set);
    match found.iter().chain(&loaded.diagnostics).find(|found| found.is_error()) {
        Some(error) => Err(refused(error)),
        None => Ok(loaded),
    }
}

fn patterns(keys: &[toml::Spanned<String>]) -> Result<Vec<CodePattern>, ConfigError> {
    let pattern =
        |key: &toml::Spanned<String>| key.get_ref().parse().map_err(|error| at(key, format!("{error}")));
    keys.iter().map(pattern).collect()
}

fn at<T>(value: &toml::Spanned<T>, message: String) -> ConfigError {
    ConfigError { message, span: value.span() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("models"))
    }

    #[test]
    fn every_key_is_read() {
        let config = parse(
            "level = 'spec'\nallow = ['W06', 'unused']\ndeny = ['warnings', 'no-op']\ntargets = ['tract']\n\
             line-width = 80\nopsets = ['a/b.onnxtxt']\n",
        )
        .unwrap();
        assert_eq!((config.level, config.line_width), (Some(Level::Spec), Some(80)));
        assert_eq!((config.allow.len(), config.deny.len(), config.deny_warnings), (2, 1, true));
        assert_eq!(config.targets[0].name, "tract");
        assert_eq!(config.opsets, [PathBuf::from("models/a/b.onnxtxt")]);
        assert!(parse("").unwrap().filter().ignore.is_empty());
    }

    /// Each row: a file, its mistake, and the text that it is about.
    #[test]
    fn mistakes_have_a_place() {
        for (text, message, place) in [
            ("level = 'loud'", "unknown level `loud`: expected syntax, spec, types or strict", "'loud'"),
            ("allow = ['nothing']", "unknown code `nothing`", "'nothing'"),
            ("line-width = 3", "line width 3 is out of range (20 to 9999)", "3"),
            ("opsets = ['../x']", "operator set `../x` must be below the folder of the file", "'../x'"),
            ("opsets = ['/x']", "operator set `/x` must be below the folder of the file", "'/x'"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.message.as_str(), &text[error.span.clone()]), (message, place));
        }
        for text in ["level = 3", "= 1", "x = 1", "targets = ['nothing']"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    /// Editors complete the file by the schema: it has every key, and the values that the reader knows.
    #[test]
    fn the_schema_describes_the_file() {
        let text = include_str!("../onnxtxt.schema.json");
        let schema: serde_json::Value = serde_json::from_str(text).unwrap();
        let properties = schema["properties"].as_object().unwrap();
        let mut keys: Vec<&str> = properties.keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["allow", "deny", "level", "line-width", "opsets", "targets"]);
        let words = |value: &serde_json::Value| -> Vec<String> {
            value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(words(&properties["level"]["enum"]), Level::ALL.map(Level::name));
        let mut known: Vec<&str> = targets::targets().iter().map(|target| target.name).collect();
        known.sort_unstable();
        assert_eq!(words(&properties["targets"]["items"]["enum"]), known);
        let width = &properties["line-width"];
        assert_eq!((width["minimum"].as_u64(), width["maximum"].as_u64()), (Some(20), Some(9999)));
        let error = parse("nothing = 1").unwrap_err().message;
        assert!(keys.iter().all(|key| error.contains(key)), "{error}");
    }

    #[test]
    fn the_nearest_file_applies_alone() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        fs::write(root.path().join(CONFIG_FILE), "line-width = 50\ndeny = ['warnings']").unwrap();
        let found =
            |path: &Path| Config::find(path).unwrap().map(|config| (config.line_width, config.deny_warnings));
        assert_eq!(found(&inner.join("m.onnxtxt")), Some((Some(50), true)));
        fs::write(root.path().join("a").join(CONFIG_FILE), "line-width = 60").unwrap();
        assert_eq!(found(&inner.join("m.onnxtxt")), Some((Some(60), false)));
        fs::write(inner.join(CONFIG_FILE), "level = 1\n").unwrap();
        assert!(Config::find(Path::new("")).unwrap().is_none_or(|config| config.path.is_some()));
        let error = Config::find(&inner).unwrap_err().to_string();
        assert!(error.contains("onnxtxt.toml:1: invalid type"), "{error}");
    }

    #[test]
    fn operator_sets_add_operators() {
        let root = tempfile::tempdir().unwrap();
        let text = "operator_set <ir_version: 10, domain: \"acme\", opset_version: 1>\n\
                    <since_version: 1> operator Scale (T x) => (T y) where T: {float}";
        fs::write(root.path().join("acme.onnxtxt"), text).unwrap();
        fs::write(root.path().join(CONFIG_FILE), "opsets = ['acme.onnxtxt']").unwrap();
        let config = Config::find(root.path()).unwrap().unwrap();
        let registry = config.registry().unwrap().unwrap();
        assert_eq!(registry.operators("acme").collect::<Vec<_>>(), ["Scale"]);
        fs::write(root.path().join("acme.onnxtxt"), "operator_set <").unwrap();
        assert!(config.registry().is_err());
    }
}
