//! Conversion of activation functions.

use crate::convert::site::{ConvertSite, Note, note};
use crate::operators::elementwise::versions::trail;
use onnx_ir::AttrValue;

pub(super) fn selu_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    s.drop_attr("consumed_inputs");
    for (name, old) in [("alpha", 1.6732), ("gamma", 1.0507)] {
        if s.attrs().float(name)?.is_none() {
            s.set(name, AttrValue::Float(old));
        }
    }
    note("`alpha` and `gamma` get the defaults of version 1")
}

/// A slope for each channel.
pub(super) fn p_relu_up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.extent(1, 0) == Some(1) {
        return Ok(None);
    }
    let (rank, slope) = (s.rank(0)?, s.rank(1)?);
    if slope != 1 || rank <= 2 {
        return Ok(None);
    }
    trail(s, rank - 2)?;
    Ok(Some("the slopes are unsqueezed to the rank of the input".to_owned()))
}
