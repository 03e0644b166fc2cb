//! The function body of `CastLike`.

use crate::bodies::draft::Draft;
use crate::bodies::site::CallSite;

/// A cast to the type of the second input.
pub(super) fn cast_like(site: &CallSite<'_>) -> Option<Draft> {
    let elem = site.elem(1)?;
    let mut draft = Draft::new();
    let mut attrs = format!("to = {}", elem.0);
    for (name, ty, default) in [("saturate", "int", "1"), ("round_mode", "string", "\"up\"")] {
        if site.schema.attr(name).is_some() {
            draft.param(format!("{name}: {ty} = {default}"));
            attrs += &format!(", {name}: {ty} = @{name}");
        }
    }
    draft.add(format_args!("output = Cast <{attrs}> (input)"));
    Some(draft)
}
