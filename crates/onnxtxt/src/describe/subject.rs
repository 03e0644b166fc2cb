//! Words that name a code of findings or an operator.

use super::NotFound;
use super::spec::{Operator, Spec};
use onnx_ir::diag::{self, Code};
use onnx_ops::schema::Registry;

/// Something that can be explained.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'r> {
    /// A code, by its id (`E0203`), name (`value-undefined`) or rule (`G03`).
    Code(&'static Code),
    /// An operator, see [`Spec`].
    Operator(Operator<'r>),
}

impl<'r> Subject<'r> {
    /// Finds the code or operator.
    ///
    /// # Errors
    ///
    /// There is none of this name; with a suggestion.
    pub fn find(key: &str, registry: &'r Registry) -> Result<Subject<'r>, NotFound> {
        if let Some(code) = diag::find(key) {
            return Ok(Subject::Code(code));
        }
        let spec = Spec::parse(key)?;
        match spec.find(registry) {
            Ok(operator) => Ok(Subject::Operator(operator)),
            Err(_) if !spec.is_operator(registry) => Err(NotFound(unknown(key, registry))),
            Err(error) => Err(error),
        }
    }
}

fn unknown(key: &str, registry: &Registry) -> String {
    let codes = diag::ALL.iter().flat_map(|code| [code.id, code.name]);
    let operators = registry.domains().flat_map(|domain| registry.operators(domain));
    let near = diag::did_you_mean(key, codes.chain(operators));
    let help = near.map_or_else(
        || "; `onnxtxt explain --list` lists all codes, `onnxtxt ops` all operators".to_owned(),
        |near| format!("; did you mean `{near}`?"),
    );
    format!("unknown code or operator `{key}`{help}")
}
