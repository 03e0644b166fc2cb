//! The structural verifier: every rule of the specification that needs no operator schema.

mod attributes;
mod calls;
mod context;
mod data;
mod declarations;
pub(crate) mod devices;
mod external;
mod formula;
mod functions;
mod graph;
mod header;
mod layout;
mod lints;
mod metadata;
mod opset;
mod order;
mod payload;
mod quantization;
mod sparse;
mod strings;
mod tensors;
#[cfg(test)]
mod testing;
mod training;
mod types;
mod versions;

use crate::diag::Level;
pub use data::verify_data;
pub use external::{FileFacts, INLINE_KEY, check_file, check_location};
pub use opset::verify_operator_set;

use crate::diag::Diagnostic;
use crate::model::Model;
use context::{Findings, VerifyContext};

/// Options of [`verify`].
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Findings of codes above this level are omitted.
    pub level: Level,
    /// Whether to check stored values where rules apply (ranges of narrow types, booleans, strings, sparse indices). Floats and
    /// wide integers are never read.
    pub payloads: bool,
}

impl Default for VerifyOptions {
    /// The rules of the specification, stored values included.
    fn default() -> Self {
        VerifyOptions { level: Level::Spec, payloads: true }
    }
}

/// Checks a model by every rule that needs no operator schema.
///
/// The model does not change. One mistake gives one finding, at the smallest wrong place, with a second
/// place at its cause; consequences are not reported. Findings are deterministic and in the order of the text. All checks take
/// time linear in the size of the model.
///
/// Properties of a model without findings, by chapter (the ids are those of the code table):
///
/// **Header** (`header`, `metadata`, `versions`, `strings`). The IR version is known, operator sets are imported once
/// each in versions that exist, and every node's domain is among them (M02–M05, O01–O06). Metadata keys are distinct
/// and mean what they say (D01–D04). Types, functions and fields are used from the IR version that brought them
/// (V03–V06).
///
/// **Names and order** (`graph`, `declarations`). Each name is defined once in a graph, before it is read; a nested
/// graph reads the values around it, hides none of them and returns its own; a function reads its own values only
/// (G01–G10, N01–N05, V01, V02). Graphs nest at most 32 deep (G12). `lints` has what is only good style: nothing
/// unused, names that are identifiers (G11, N06).
///
/// **Attributes** (`attributes`). An attribute has a name, a type, and one value of that type, or refers to a
/// parameter of the function around it; a node has each attribute once (A01–A07, S09).
///
/// **Tensors** (`tensors`, `payload`, `sparse`, `external`). A stored tensor has a type, a shape, and in one field, the
/// one for its type, as many values as the shape asks for, each in range (T01–T11). Sparse tensors have sorted indices
/// within their shape (P01–P04). External data names a place below the model's folder (X01–X14).
///
/// **Types** (`types`, `declarations`). What the main graph takes and returns has a type and a rank; types are complete;
/// initializers fit their declarations and a symbol stands for one number (Y01–Y10, G09).
///
/// **Functions** (`functions`, `calls`). Functions have distinct identities and formals, import what they use, do not
/// call themselves, and are called as they are declared (F01–F14).
///
/// **Training, quantization, devices** (`training`, `quantization`, `devices`). Bindings name what exists and fits
/// (R01–R04), annotations name tensors of the graph (Z01), shardings name devices and axes that exist (C01–C06).
///
/// **Values in files of their own** (`data`, [`verify_data`]). Stored sequences, maps and optionals hold what they say
/// (Y11), and their tensors are sound.
///
/// **Operator sets** (`opset`, [`verify_operator_set`]). Sets and operators have names and versions, once each; their
/// signatures make sense, and the functions that define them fit.
#[must_use]
pub fn verify(model: &Model, options: &VerifyOptions) -> Vec<Diagnostic> {
    verify_with(model, options, Vec::new())
}

/// Like [`verify`], with what others found, all in the order of the text.
#[must_use]
pub fn verify_with(model: &Model, options: &VerifyOptions, others: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let cx = VerifyContext::new(model, options);
    let mut found = Findings::new(options);
    header::check(&cx, &mut found);
    strings::check(&cx, &mut found);
    metadata::check(&cx, &mut found);
    versions::check(&cx, &mut found);
    graph::check(&cx, &mut found);
    declarations::check(&cx, &mut found);
    lints::check(&cx, &mut found);
    attributes::check(&cx, &mut found);
    tensors::check(&cx, &mut found);
    types::check(&cx, &mut found);
    functions::check(&cx, &mut found);
    calls::check(&cx, &mut found);
    training::check(&cx, &mut found);
    quantization::check(&cx, &mut found);
    devices::check(&cx, &mut found);
    others.into_iter().for_each(|d| found.push(d));
    let mut list = found.into_list();
    order::sort(&cx, &mut list);
    list
}
