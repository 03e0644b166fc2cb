//! Operator sets in files of their own.

use super::read_pass::ReadPass;
use super::{function, name, readable};
use crate::wire::OPERATOR_SET_PROTO;
use crate::{FileKind, pb};
use bytes::Bytes;
use onnx_ir::diag::Parsed;
use onnx_ir::{Operator, OperatorSet, OperatorStatus};

const FUNCTIONS: u32 = 9;

/// Decodes the bytes of an `OperatorSetProto`; returns findings about the bytes, as [`read`](super::read()) does.
///
/// ```
/// let bytes = bytes::Bytes::from_static(b"\x0a\x09ONNXOPSET\x22\x01d\x28\x02\x42\x05\x0a\x01A\x10\x01");
/// let set = onnx_proto::read_operator_set(bytes.clone()).into_result().unwrap();
/// assert_eq!((set.domain(), set.opset_version, set.operators.len()), ("d", Some(2), 1));
/// assert_eq!(onnx_proto::write_operator_set(&set)?, bytes);
/// # Ok::<(), onnx_proto::TooLarge>(())
/// ```
pub fn read_operator_set(bytes: Bytes) -> Parsed<OperatorSet> {
    let mut diagnostics = Vec::new();
    let mut set = OperatorSet::new();
    let bytes = readable(bytes, FileKind::OperatorSet, &mut diagnostics);
    let mut pass = ReadPass::validated(diagnostics);
    if let Some(bytes) = bytes {
        fill(&bytes, &mut set, &mut pass);
    }
    Parsed::new(set, pass.diagnostics)
}

fn fill(bytes: &Bytes, set: &mut OperatorSet, pass: &mut ReadPass) {
    let (rest, deferred) = pass.split(bytes, &[FUNCTIONS]);
    let pb::OperatorSetProto {
        magic,
        ir_version,
        ir_version_prerelease,
        domain,
        opset_version,
        doc_string,
        ir_build_metadata,
        operator,
        functions: _,
    } = pass.decode(rest, &OPERATOR_SET_PROTO);

    let names = &mut set.model.names;
    set.magic = name(magic, names);
    set.model.header.ir_version = ir_version;
    set.ir_version_prerelease = name(ir_version_prerelease, names);
    set.model.header.domain = name(domain, names);
    set.opset_version = opset_version;
    set.model.header.doc = name(doc_string, names);
    set.ir_build_metadata = name(ir_build_metadata, names);
    set.operators = operator
        .into_iter()
        .map(|message| Operator {
            name: name(message.op_type, names),
            since_version: message.since_version,
            status: message.status.map(OperatorStatus),
            doc: name(message.doc_string, names),
        })
        .collect();
    for encoded in deferred.values(FUNCTIONS) {
        let function = function(&encoded, &mut set.model, pass);
        set.model.functions.push(function);
    }
}
