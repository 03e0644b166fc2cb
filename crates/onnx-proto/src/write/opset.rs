//! Operator sets in files of their own.

use super::fields::message;
use super::{Strings, TooLarge, check_size, function_fields};
use crate::pb;
use onnx_ir::OperatorSet;
use prost::Message as _;

const FUNCTIONS: u32 = 9;

/// The set as an encoded `OperatorSetProto`, whatever state it is in.
///
/// # Errors
///
/// The message would have more bytes than protobuf can read.
pub fn write_operator_set(set: &OperatorSet) -> Result<Vec<u8>, TooLarge> {
    let strings = &Strings::new(&set.model.names);
    let header = &set.model.header;
    let before_functions = pb::OperatorSetProto {
        magic: strings.get(set.magic),
        ir_version: header.ir_version,
        ir_version_prerelease: strings.get(set.ir_version_prerelease),
        domain: strings.get(header.domain),
        opset_version: set.opset_version,
        doc_string: strings.get(header.doc),
        ir_build_metadata: strings.get(set.ir_build_metadata),
        operator: set
            .operators
            .iter()
            .map(|operator| pb::OperatorProto {
                op_type: strings.get(operator.name),
                since_version: operator.since_version,
                status: operator.status.map(|status| status.0),
                doc_string: strings.get(operator.doc),
            })
            .collect(),
        functions: Vec::new(),
    };
    let mut out = before_functions.encode_to_vec();
    for function in set.model.functions.values() {
        message(FUNCTIONS, &mut out, |out| function_fields(function, &set.model, strings, out));
    }
    check_size(out.len())?;
    Ok(out)
}
