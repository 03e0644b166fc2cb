//! All occurrences of a name.

use crate::document::Snapshot;
use gen_lsp_types::{DocumentHighlight, DocumentHighlightKind, Location, Position};
use onnx_text::{NameRole, Occurrence};

/// The occurrences of the name at a position; without its definition and declarations, if they are not wanted.
pub(crate) fn references(snapshot: &Snapshot, position: Position, with_declarations: bool) -> Vec<Location> {
    occurrences(snapshot, position)
        .filter(|occurrence| with_declarations || occurrence.role == NameRole::Use)
        .map(|occurrence| snapshot.location(occurrence.span))
        .collect()
}

/// The occurrences, and whether they read or write.
pub(crate) fn highlights(snapshot: &Snapshot, position: Position) -> Vec<DocumentHighlight> {
    occurrences(snapshot, position)
        .map(|occurrence| DocumentHighlight {
            range: snapshot.range(occurrence.span),
            kind: Some(match occurrence.role {
                NameRole::Definition => DocumentHighlightKind::Write,
                NameRole::Declaration => DocumentHighlightKind::Text,
                NameRole::Use => DocumentHighlightKind::Read,
            }),
        })
        .collect()
}

fn occurrences(snapshot: &Snapshot, position: Position) -> impl Iterator<Item = Occurrence> + '_ {
    let names = snapshot.names();
    let name = names.at(snapshot.offset(position)).map(|occurrence| occurrence.name);
    name.into_iter().flat_map(|name| names.occurrences(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{marked_text, model};

    fn check(marked: &str) {
        let (snapshot, cursor, ranges) = marked_text(marked);
        let found = references(&snapshot, cursor.unwrap(), true);
        let spans: Vec<_> = found.iter().map(|location| snapshot.span(location.range)).collect();
        assert_eq!(spans, ranges, "{marked}");
    }

    #[test]
    fn every_occurrence_is_found_and_no_other() {
        check(&model("$[t$] = Abs(x)\ny = Mul($[t$], $[$0t$])"));
        check("g ($[x$]) => (y) { y = If (c) <then_branch = a () => (z) { z = Add($[x$], $[$0x$]) }> }");
        check(
            "g (float[$[N$0$]] x) => (float[\"2*$[N$]\"] y) { y = D(x) } <domain: \"l\"> F (float[N] a) => (b) { b = Abs(a) }",
        );
        check(&model("t = $[Ab$0s$](x)\ny = $[Abs$](t)"));
        check(&model(
            "t = Elu <$[al$0pha$] = 1.0> (x)\nu = Elu <$[alpha$] = 2.0> (t) y = Selu <alpha = 1.0> (u)",
        ));
        // A name of a nested graph hides the one outside.
        check(
            "g ($[x$], c) => (y) { z = Abs($[$0x$]) y = If (c) <then_branch = a () => (z) { x = K() z = Abs(x) }> }",
        );
    }

    #[test]
    fn declarations_can_be_left_out() {
        let (snapshot, cursor, ranges) =
            marked_text("g (x) => (y) <float[N] t> { t$0 = Abs(x) y = Neg($[t$]) }");
        let found = references(&snapshot, cursor.unwrap(), false);
        assert_eq!(found.len(), ranges.len());
        let kinds: Vec<_> =
            highlights(&snapshot, cursor.unwrap()).into_iter().filter_map(|it| it.kind).collect();
        use DocumentHighlightKind::*;
        assert_eq!(kinds, [Text, Write, Read]);
    }
}
