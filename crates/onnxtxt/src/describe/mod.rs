//! Descriptions of operators and of the codes of findings, of what a model costs, and of what a new version means for its users, as text
//! and as JSON.
//!
//! ```
//! use onnxtxt::describe::{Spec, card, code_text};
//! use onnxtxt::ops::schema::Registry;
//!
//! let registry = Registry::builtin();
//! let conv = Spec::parse("Conv@11")?.find(registry)?;
//! assert!(card(registry, &conv, false).starts_with("ai.onnx.Conv, version 11 of "));
//! let code = onnxtxt::ir::diag::find("value-undefined").expect("a code");
//! assert!(code_text(code, false).starts_with("error[E0203] value-undefined"));
//! assert_eq!(Spec::parse("Convv")?.find(registry).unwrap_err().to_string(), "unknown operator `Convv`; did you mean `Conv`?");
//! # Ok::<(), onnxtxt::describe::NotFound>(())
//! ```

mod card;
mod code;
mod costs;
mod json;
mod list;
mod snippet;
mod spec;
mod subject;
mod versions;

pub use card::card;
pub use code::{code_json, code_text, code_title};
pub use costs::{CostKey, ModelCosts};
pub use json::{operator_json, operators_json};
pub use list::{Listed, known_domain, listed};
pub use snippet::{call_snippet, least_results, placeholder, snippet};
pub use spec::{Operator, Spec};
pub use subject::Subject;
pub use versions::{Unencodable, VersionChange};

use std::fmt::{self, Display, Formatter};

/// There is no such operator, domain or version: the reason, with a suggestion if there is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotFound(String);

impl Display for NotFound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotFound {}

/// The display name of a domain.
#[must_use]
pub fn domain_text(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}
