//! Lays out a line that is too long; the only module that uses `pretty`.
//!
//! A line consists of its flat text and its possible breaks. Most long lines are broken only in their outermost lists; those are
//! laid out directly, by the rules of `pretty` (a test compares the two). `pretty` allocates for every piece, which would
//! dominate the time for a model with long lines, so it is used only for the rest. Measured by `cargo xtask bench real/print`.

use super::INDENT;
use pretty::{Arena, DocAllocator, DocBuilder};

/// A place in a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Byte of the flat text.
    pub(super) at: u32,
    pub(super) kind: Break,
}

/// The kind of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Break {
    /// A group begins; its contents are indented.
    Open,
    /// The indentation of the group ends.
    Dedent,
    /// The group ends.
    Close,
    /// Nothing, or a line break if the group is broken.
    Empty,
    /// A space, or a line break if the group is broken.
    Space,
    /// A space, or a line break if what follows does not fit.
    Fill,
}

impl Break {
    /// Its flat text.
    pub(super) fn flat(self) -> &'static str {
        match self {
            Break::Space | Break::Fill => " ",
            Break::Open | Break::Dedent | Break::Close | Break::Empty => "",
        }
    }

    fn may_break(self) -> bool {
        match self {
            Break::Empty | Break::Space | Break::Fill => true,
            Break::Open | Break::Dedent | Break::Close => false,
        }
    }
}

/// Appends the line `flat`, indented by `indent` (spaces included), broken at its pieces to fit `width`.
pub(super) fn wrap(flat: &str, pieces: &[Piece], indent: usize, width: usize, out: &mut String) {
    let start = out.len();
    if !(flat.is_ascii() && directly(flat, pieces, indent, width, out)) {
        out.truncate(start);
        by_pretty(flat, pieces, indent, width, out);
    }
}

/// Breaks the outermost groups only; `false` if that does not do.
fn directly(flat: &str, pieces: &[Piece], indent: usize, width: usize, out: &mut String) -> bool {
    // A group fits if it does together with what follows up to the next place that may be broken.
    let next_break = |from: usize| {
        let next = pieces[from..].iter().find(|p| p.kind.may_break());
        next.map_or(flat.len(), |p| p.at as usize)
    };
    let mut inside = false;
    let mut nested = indent;
    // The byte of `flat` that the column 0 of the current line would be, and the first that is not written yet.
    let mut origin = 0isize;
    let mut written = 0;
    let mut i = 0;
    while let Some(piece) = pieces.get(i) {
        let at = piece.at as usize;
        i += 1;
        let breaks = match piece.kind {
            Break::Open => {
                let Some(close) = close_of(pieces, i) else { return false };
                if next_break(close) as isize - origin <= width as isize {
                    i = close;
                } else if inside {
                    return false;
                } else {
                    inside = true;
                    nested = indent + INDENT;
                }
                false
            }
            Break::Dedent => {
                nested = indent;
                false
            }
            Break::Close => {
                inside = false;
                false
            }
            Break::Empty | Break::Space => true,
            Break::Fill => next_break(i) as isize - origin > width as isize,
        };
        if breaks {
            out.push_str(&flat[written..at]);
            written = at + piece.kind.flat().len();
            origin = written as isize - nested as isize;
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', nested));
        }
    }
    out.push_str(&flat[written..]);
    true
}

/// The piece after the end of the group that begins before piece `from`.
fn close_of(pieces: &[Piece], from: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, piece) in pieces.iter().enumerate().skip(from) {
        match piece.kind {
            Break::Open => depth += 1,
            Break::Close if depth == 0 => return Some(i + 1),
            Break::Close => depth -= 1,
            Break::Dedent | Break::Empty | Break::Space | Break::Fill => {}
        }
    }
    None
}

type Doc<'d> = DocBuilder<'d, Arena<'d>>;

fn by_pretty(flat: &str, pieces: &[Piece], indent: usize, width: usize, out: &mut String) {
    let arena = Arena::new();
    let mut doc = Docs { arena: &arena, outer: Vec::new(), inner: arena.nil() };
    let mut from = 0;
    for piece in pieces {
        let to = piece.at as usize;
        doc.add(arena.text(&flat[from..to]));
        from = to + piece.kind.flat().len();
        match piece.kind {
            Break::Open => {
                doc.open();
                doc.open();
            }
            Break::Dedent => doc.close(|d| d.nest(INDENT as isize)),
            Break::Close => doc.close(Doc::group),
            Break::Empty => doc.add(arena.line_()),
            Break::Space => doc.add(arena.line()),
            Break::Fill => doc.add(arena.softline()),
        }
    }
    doc.add(arena.text(&flat[from..]));
    // The part that a comment has separated from its end.
    while !doc.outer.is_empty() {
        doc.close(Doc::group);
    }
    let nest = isize::try_from(indent).unwrap_or(0);
    let written = doc.inner.nest(nest).into_doc().render_fmt(width, out);
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

/// Documents inside one another.
struct Docs<'d> {
    arena: &'d Arena<'d>,
    outer: Vec<Doc<'d>>,
    inner: Doc<'d>,
}

impl<'d> Docs<'d> {
    fn add(&mut self, doc: Doc<'d>) {
        let inner = std::mem::replace(&mut self.inner, self.arena.nil());
        self.inner = inner.append(doc);
    }

    fn open(&mut self) {
        self.outer.push(std::mem::replace(&mut self.inner, self.arena.nil()));
    }

    /// Ends the innermost document, if there is one; a comment may have cut it off from its beginning.
    fn close(&mut self, as_what: impl FnOnce(Doc<'d>) -> Doc<'d>) {
        if let Some(outer) = self.outer.pop() {
            let inner = std::mem::replace(&mut self.inner, outer);
            self.add(as_what(inner));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A line of words, lists of words, lists of lists.
    fn line() -> impl Strategy<Value = (String, Vec<Piece>)> {
        let word = "[a-z]{1,9}".prop_map(Tree::Word);
        let tree = word.prop_recursive(3, 30, 5, |inner| {
            (prop::bool::ANY, prop::collection::vec(inner, 1..6))
                .prop_map(|(fill, items)| Tree::List(fill, items))
        });
        prop::collection::vec(tree, 1..4).prop_map(|trees| {
            let mut line = (String::from("    "), Vec::new());
            for tree in trees {
                tree.write(&mut line);
                line.0.push_str(" = ");
            }
            line
        })
    }

    #[derive(Clone, Debug)]
    enum Tree {
        Word(String),
        List(bool, Vec<Tree>),
    }

    impl Tree {
        fn write(&self, line: &mut (String, Vec<Piece>)) {
            let piece = |line: &mut (String, Vec<Piece>), kind| {
                line.1.push(Piece { at: line.0.len() as u32, kind });
                line.0.push_str(Break::flat(kind));
            };
            match self {
                Tree::Word(word) => line.0.push_str(word),
                Tree::List(fill, items) => {
                    line.0.push('(');
                    piece(line, Break::Open);
                    piece(line, Break::Empty);
                    for (i, item) in items.iter().enumerate() {
                        if i > 0 {
                            line.0.push(',');
                            piece(line, if *fill { Break::Fill } else { Break::Space });
                        }
                        item.write(line);
                    }
                    piece(line, Break::Dedent);
                    piece(line, Break::Empty);
                    line.0.push(')');
                    piece(line, Break::Close);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn direct_layout_is_that_of_pretty((flat, pieces) in line(), width in 8usize..60) {
            let (mut direct, mut pretty) = (String::new(), String::new());
            by_pretty(&flat, &pieces, 4, width, &mut pretty);
            if directly(&flat, &pieces, 4, width, &mut direct) {
                prop_assert_eq!(direct, pretty);
            }
        }
    }

    #[test]
    fn only_what_does_not_fit_is_broken() {
        let tree = Tree::List(
            false,
            vec![
                Tree::Word("one".into()),
                Tree::List(false, vec![Tree::Word("two".into()), Tree::Word("three".into())]),
            ],
        );
        let mut line = (String::new(), Vec::new());
        tree.write(&mut line);
        let laid_out = |width| {
            let mut out = String::new();
            wrap(&line.0, &line.1, 0, width, &mut out);
            out
        };
        assert_eq!(laid_out(20), "(one, (two, three))");
        assert_eq!(laid_out(16), "(\n    one,\n    (two, three)\n)");
        assert_eq!(laid_out(10), "(\n    one,\n    (\n        two,\n        three\n    )\n)");
    }
}
