//! Where a name is defined, and where it is declared.

use crate::document::Snapshot;
use gen_lsp_types::{Location, Position};
use onnx_text::NameRole;

/// The definition of the name at a position.
pub(crate) fn definition(snapshot: &Snapshot, position: Position) -> Option<Location> {
    let name = snapshot.names().at(snapshot.offset(position))?.name;
    let definition = snapshot.names().definition(name)?;
    Some(snapshot.location(definition.span))
}

/// The declaration of the type of a value; its definition, if there is none.
pub(crate) fn declaration(snapshot: &Snapshot, position: Position) -> Option<Location> {
    let name = snapshot.names().at(snapshot.offset(position))?.name;
    let declared =
        snapshot.names().occurrences(name).find(|occurrence| occurrence.role == NameRole::Declaration);
    declared.map(|occurrence| snapshot.location(occurrence.span)).or_else(|| definition(snapshot, position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{marked_text, model};

    fn check(marked: &str) {
        let (snapshot, cursor, ranges) = marked_text(marked);
        let found = definition(&snapshot, cursor.unwrap()).map(|location| snapshot.span(location.range));
        assert_eq!(found, ranges.first().copied(), "{marked}");
    }

    #[test]
    fn definitions_are_found_from_every_use() {
        check(&model("$[t$] = Abs(x)\ny = Neg(t$0)"));
        check(&model("$[t$] = Abs(x)\ny = If (c) <then_branch = a () => (z) { z = Neg($0t) }>"));
        check("g (float[$[N$]] x) => (float[N$0] y) { y = Abs(x) }");
        check("g (float[N] $[x$]) => (float[N] y) { y = Abs(x$0) }");
        check(
            "<opset_import: [\"l\": 1]> g (x) => (y) { y = l.$0F(x) } <domain: \"l\"> $[F$] (a) => (b) { b = Abs(a) }",
        );
        check("<domain: \"l\"> F <$[alpha$]> (a) => (b) { b = Elu <alpha = @alpha$0> (a) }");
        check("<opset_import: [$[\"l\"$]: 1]> g (x) => (y) { y = l$0.F(x) }");
        check(&model("y = $0Relu(x)"));
        check(&model("y = Relu($0nowhere)"));
    }

    #[test]
    fn declarations_are_where_types_are() {
        let (snapshot, cursor, ranges) =
            marked_text("g (float[N] x) => (y) <float[N] $[t$]> { t = Abs(x) y = Neg($0t) }");
        let found = declaration(&snapshot, cursor.unwrap()).map(|location| snapshot.span(location.range));
        assert_eq!(found, Some(ranges[0]));
    }
}
