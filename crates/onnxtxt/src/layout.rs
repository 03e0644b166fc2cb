//! Texts of edited models that keep the layout of what was not touched.
//!
//! ```text
//! the file                     the model after an edit          the text
//! {                            {                                {
//!   h = Neg( x )   # first         h = Neg(x)  # first            h = Neg( x )   # first
//!                                  t = Abs(h)                     t = Abs(h)
//!   y = Relu(h)                    y = Relu(t)
//! }                            }                                  y = Relu(t)
//!                                                               }
//! ```
//!
//! A model has no layout, so the text that is printed of it has the standard one. Here are three texts: the file, what is printed of the
//! model as it was read, and what is printed of it now. Statements, values and fields that the last two have in common are those that were
//! not touched: they are taken from the file, with the white space and the comments between those that are still beside each other.
//! A statement that has changed, or one of the graphs in it, is printed. The result is read again: if it is not the model that is to be
//! written, or the file has several statements on a line, the standard layout is the result.

use crate::loaded::Loaded;
use crate::source::{File, Form};
use crate::text::Text;
use onnx_ir::{Body, Model};
use onnx_text::ast::{self, Field, Function, Graph, List, Node, Notes, ValueInfo};
use onnx_text::{Profile, RaiseOptions, Syntax};
use std::collections::HashMap;
use std::ops::Range;

/// Longer texts are not compared: they hold weights.
const MAX_BYTES: usize = 8 << 20;

impl Loaded {
    /// The text of the model, in the layout of its file where that was not edited. Files of other forms have none.
    ///
    /// ```
    /// use onnxtxt::ir::Cursor;
    ///
    /// let text = "<ir_version: 10,\n opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y)\n{\n\n  y = Relu( x )  # positive\n}\n";
    /// let mut loaded = onnxtxt::parse(text);
    /// assert_eq!(loaded.text_as_laid_out(), text);
    /// let doc = loaded.model.names.intern("h");
    /// loaded.model.header.producer_name = Some(doc);
    /// assert!(loaded.text_as_laid_out().ends_with("\n{\n\n  y = Relu( x )  # positive\n}\n"));
    /// ```
    #[must_use]
    pub fn text_as_laid_out(&self) -> String {
        self.laid_out(print(self))
    }

    /// A printed text of the model, which has all its comments, in the layout of the file.
    pub(crate) fn laid_out(&self, printed: String) -> String {
        let file = self.file();
        if file.form != Form::Text || file.bytes.len().max(printed.len()) > MAX_BYTES {
            return printed;
        }
        kept(file, &printed).unwrap_or(printed)
    }
}

/// A printed text in the layout of a file, if that is the same model.
fn kept(file: &File, printed: &str) -> Option<String> {
    let origin = read(file.text())?;
    if !has_lines(file.text(), origin.syntax()?) {
        return None;
    }
    let before = print(&origin);
    if before == printed {
        return Some(file.text().to_owned());
    }
    let (formatted, edited) = (read(&before)?, read(printed)?);
    let texts = [
        Leaves::of(file.text(), origin.syntax()?),
        Leaves::of(&before, formatted.syntax()?),
        Leaves::of(printed, edited.syntax()?),
    ];
    let [of_file, of_before, of_now] = &texts;
    let places = of_file.places_of(of_before, &origin.model)?;
    let text = Merge::new(of_file, of_before, of_now, &places).text();
    (print(&read(&text)?) == printed).then_some(text)
}

fn read(text: &str) -> Option<Loaded> {
    let mut file = File::new("<text>".to_owned(), None, text.to_owned().into());
    file.form = Form::Text;
    let loaded = file.load();
    (!loaded.is_partial()).then_some(loaded)
}

fn print(loaded: &Loaded) -> String {
    let options = RaiseOptions { profile: Profile::Onnx, ..RaiseOptions::default() };
    Text::commented(&loaded.model, &options, &loaded.comments()).to_text()
}

/// Whether each statement begins a line: then the text has a layout of its own.
fn has_lines(source: &str, syntax: &Syntax<ast::File>) -> bool {
    let begins = |node: &Node| {
        let start = start_of(&node.notes, node.span.start) as usize;
        let line = source[..start].rfind('\n').map_or(0, |at| at + 1);
        source[line..start].bytes().all(|byte| byte.is_ascii_whitespace())
    };
    let functions = syntax.tree.functions.iter().map(|function| &function.body);
    let graph = syntax.tree.graph.iter().map(|graph| &graph.body);
    let mut bodies = graph.chain(functions).peekable();
    bodies.peek().is_some() && bodies.all(|body| body.iter().all(begins))
}

fn start_of(notes: &Notes, start: u32) -> u32 {
    notes.start().unwrap_or(start).min(start)
}

/// The list that a leaf is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum In {
    Header,
    Name,
    Attributes,
    Inputs,
    Outputs,
    Values,
    Body,
}

/// The smallest part that is taken from the file or printed: a field, a value, a statement, a name, or the bracket of a list.
#[derive(Clone, Debug)]
struct Leaf {
    /// 0 for the main graph, then the functions.
    scope: usize,
    list: In,
    is_bracket: bool,
    span: Range<usize>,
}

/// The leaves of a text, in its order.
struct Leaves<'t> {
    source: &'t str,
    leaves: Vec<Leaf>,
}

impl<'t> Leaves<'t> {
    fn of(source: &'t str, syntax: &Syntax<ast::File>) -> Leaves<'t> {
        let mut leaves = Leaves { source, leaves: Vec::new() };
        let tree = &syntax.tree;
        if let Some(header) = &tree.header {
            leaves.fields(0, header);
        }
        if let Some(graph) = &tree.graph {
            leaves.graph(graph);
        }
        for (i, function) in tree.functions.iter().enumerate() {
            leaves.function(i + 1, function);
        }
        // Notes may stand before a header, which does not have them.
        leaves.leaves.sort_by_key(|leaf| leaf.span.start);
        leaves
    }

    fn push(&mut self, scope: usize, list: In, is_bracket: bool, span: Range<usize>) {
        self.leaves.push(Leaf { scope, list, is_bracket, span });
    }

    /// The items of a list between its brackets.
    fn list<T>(&mut self, scope: usize, list: In, items: &List<T>, span_of: impl Fn(&T) -> Range<usize>) {
        let span = items.span.range();
        if span.len() < 2 {
            return;
        }
        self.push(scope, list, true, span.start..span.start + 1);
        for item in &items.items {
            self.push(scope, list, false, span_of(item));
        }
        self.push(scope, list, true, span.end - 1..span.end);
    }

    fn fields(&mut self, scope: usize, header: &List<Field>) {
        self.list(scope, In::Header, header, |field| field.key.to(field.value.span()).range());
    }

    fn values(&mut self, scope: usize, list: In, values: &List<ValueInfo>) {
        self.list(scope, list, values, |value| {
            start_of(&value.notes, value.span.start) as usize..value.span.end as usize
        });
    }

    fn body(&mut self, scope: usize, nodes: &[Node], span: Range<usize>) {
        if span.len() < 2 {
            return;
        }
        self.push(scope, In::Body, true, span.start..span.start + 1);
        for node in nodes {
            let start = start_of(&node.notes, node.span.start) as usize;
            self.push(scope, In::Body, false, start..node.span.end as usize);
        }
        self.push(scope, In::Body, true, span.end - 1..span.end);
    }

    fn graph(&mut self, graph: &Graph) {
        if !graph.name.is_empty() {
            self.push(0, In::Name, false, graph.name.range());
        }
        if let Some(inputs) = &graph.inputs {
            self.values(0, In::Inputs, inputs);
        }
        self.values(0, In::Outputs, &graph.outputs);
        if let Some(values) = &graph.values {
            self.values(0, In::Values, values);
        }
        self.body(0, &graph.body, graph.body_span.range());
    }

    fn function(&mut self, scope: usize, function: &Function) {
        if let Some(header) = &function.header {
            self.fields(scope, header);
        }
        self.push(scope, In::Name, false, function.name.range());
        if let Some(attributes) = &function.attrs {
            self.list(scope, In::Attributes, attributes, |attribute| attribute.span.range());
        }
        self.values(scope, In::Inputs, &function.inputs);
        self.values(scope, In::Outputs, &function.outputs);
        if let Some(values) = &function.values {
            self.values(scope, In::Values, values);
        }
        self.body(scope, &function.body, function.body_span.range());
    }

    fn text(&self, leaf: usize) -> &'t str {
        &self.source[self.leaves[leaf].span.clone()]
    }

    /// The text between a leaf and the next one; before the first, and after the last.
    fn gap(&self, before: Option<usize>) -> &'t str {
        let (start, next) = match before {
            None => (0, 0),
            Some(leaf) => (self.leaves[leaf].span.end, leaf + 1),
        };
        let end = self.leaves.get(next).map_or(self.source.len(), |leaf| leaf.span.start);
        &self.source[start..end.max(start)]
    }

    /// The leaves of each list.
    fn lists(&self) -> HashMap<(usize, In), Vec<usize>> {
        let mut lists: HashMap<(usize, In), Vec<usize>> = HashMap::new();
        for (i, leaf) in self.leaves.iter().enumerate() {
            lists.entry((leaf.scope, leaf.list)).or_default().push(i);
        }
        lists
    }

    /// Where each leaf of the printed text is in this one. `None` if the two are not of one model.
    fn places_of(&self, printed: &Leaves<'_>, model: &Model) -> Option<Vec<Option<Place>>> {
        let mut places: Vec<Option<Place>> = vec![None; printed.leaves.len()];
        let bodies = model.main.into_iter().chain(model.functions.values().map(|function| function.body));
        let bodies: Vec<&Body> = bodies.map(|body| &model.bodies[body]).collect();
        let lists = self.lists();
        for ((scope, list), theirs) in printed.lists() {
            let ours = lists.get(&(scope, list)).map_or(&[][..], Vec::as_slice);
            if list == In::Body {
                self.statements(ours, &theirs, bodies.get(scope)?, &mut places)?;
                continue;
            }
            // Lists that the printer has arranged are printed.
            if ours.len() == theirs.len() {
                for (&ours, &theirs) in ours.iter().zip(&theirs) {
                    places[theirs] = Some(Place { leaf: ours, part: 0, parts: 1 });
                }
            }
        }
        Some(places)
    }

    /// The places of statements: one with an expression is printed as several.
    fn statements(
        &self,
        ours: &[usize],
        theirs: &[usize],
        body: &Body,
        places: &mut [Option<Place>],
    ) -> Option<()> {
        let nodes = &body.graphs[body.root()?].nodes;
        let ([open, statements @ .., close], [first, printed @ .., last]) = (ours, theirs) else {
            return (ours.is_empty() && theirs.is_empty()).then_some(());
        };
        if nodes.len() != printed.len() {
            return None;
        }
        places[*first] = Some(Place { leaf: *open, part: 0, parts: 1 });
        places[*last] = Some(Place { leaf: *close, part: 0, parts: 1 });
        let of_line = |leaf: &usize| self.leaves[*leaf].span.clone();
        let mut at = 0;
        for leaf in statements {
            let span = of_line(leaf);
            let is_of = |i: &usize| span.contains(&(body.origins[nodes[*i]].0 as usize));
            let parts = (at..nodes.len()).take_while(is_of).count();
            for part in 0..parts {
                places[printed[at + part]] = Some(Place { leaf: *leaf, part, parts });
            }
            at += parts;
        }
        (at == nodes.len()).then_some(())
    }
}

/// The part of a leaf of the file that is printed as one leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    leaf: usize,
    part: usize,
    parts: usize,
}

/// The three texts, and the places of the second in the first.
struct Merge<'t> {
    file: &'t Leaves<'t>,
    before: &'t Leaves<'t>,
    now: &'t Leaves<'t>,
    places: &'t [Option<Place>],
    /// For each leaf of the text as it is now, the one that it was.
    same: Vec<Option<Same>>,
    /// The indentation of the statements of each scope in the file.
    indents: HashMap<usize, &'t str>,
}

/// A leaf of the text as it is now that was not touched: it is in the text before, and in the file.
#[derive(Clone, Copy, Debug)]
struct Same {
    before: usize,
    file: usize,
}

impl<'t> Merge<'t> {
    fn new(
        file: &'t Leaves<'t>,
        before: &'t Leaves<'t>,
        now: &'t Leaves<'t>,
        places: &'t [Option<Place>],
    ) -> Merge<'t> {
        let mut merge = Merge { file, before, now, places, same: Vec::new(), indents: HashMap::new() };
        merge.same = merge.untouched();
        for (leaf, same) in now.leaves.iter().zip(&merge.same) {
            if let (In::Body, false, Some(same)) = (leaf.list, leaf.is_bracket, same) {
                let at = file.leaves[same.file].span.start;
                merge.indents.entry(leaf.scope).or_insert_with(|| indent(file.source, at));
            }
        }
        merge
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut gap = self.between(None, None);
        let mut leaf = 0;
        while leaf < self.same.len() {
            // The parts of an expression are one leaf of the file.
            let parts =
                self.same[leaf].and_then(|same| self.places[same.before]).map_or(1, |place| place.parts);
            let last = leaf + parts.max(1) - 1;
            text.push_str(&gap);
            match self.same[leaf] {
                Some(same) => text.push_str(self.file.text(same.file)),
                None => text.push_str(&self.indented(leaf, self.now.text(leaf))),
            }
            gap = self.between(Some(leaf), Some(last));
            leaf = last + 1;
        }
        text + &gap
    }

    /// For each leaf of the text as it is now, the one that it was.
    fn untouched(&self) -> Vec<Option<Same>> {
        let mut known: HashMap<(usize, In, bool, &str), Vec<usize>> = HashMap::new();
        for (i, leaf) in self.before.leaves.iter().enumerate().rev() {
            let key = (leaf.scope, leaf.list, leaf.is_bracket, self.before.text(i));
            known.entry(key).or_default().push(i);
        }
        let leaves = self.now.leaves.iter().enumerate();
        let mut same: Vec<Option<Same>> = leaves
            .map(|(i, leaf)| {
                let key = (leaf.scope, leaf.list, leaf.is_bracket, self.now.text(i));
                let before = known.get_mut(&key)?.pop()?;
                Some(Same { before, file: self.places[before]?.leaf })
            })
            .collect();
        // An expression is as it was if all its parts are.
        for i in 0..same.len() {
            let place = |same: Option<Same>| same.and_then(|same| self.places[same.before]);
            let Some(Place { leaf, part, parts }) = place(same[i]).filter(|place| place.parts > 1) else {
                continue;
            };
            let start = i.checked_sub(part);
            let has = |part: usize| {
                let at = start.and_then(|start| same.get(start + part)).copied().flatten();
                place(at) == Some(Place { leaf, part, parts })
            };
            if !(0..parts).all(has) {
                same[i] = None;
            }
        }
        same
    }

    /// The text to write between a leaf, whose parts end at `last`, and the next one.
    fn between(&self, leaf: Option<usize>, last: Option<usize>) -> String {
        let next = last.map_or(0, |last| last + 1);
        let printed = self.now.gap(last);
        let here = leaf.map(|leaf| self.same[leaf]);
        let there = self.same.get(next).copied();
        // The ends of the text are beside the first and the last leaf.
        let before =
            [here.map(|here| here.map(|same| self.ends(same).0)), there.map(|there| there.map(|s| s.before))];
        let is_beside = match before {
            [None, Some(Some(next))] => next == 0,
            [Some(Some(leaf)), None] => leaf + 1 == self.before.leaves.len(),
            [Some(Some(leaf)), Some(Some(next))] => leaf + 1 == next,
            [None, None] => true,
            [Some(None), _] | [_, Some(None)] => false,
        };
        let ours = |same: Same| same.file;
        let is_beside_in_file = match [here.flatten().map(ours), there.flatten().map(ours)] {
            [Some(leaf), Some(next)] => leaf + 1 == next,
            [None, Some(next)] => next == 0,
            [Some(leaf), None] => leaf + 1 == self.file.leaves.len(),
            [None, None] => here.is_none() && there.is_none(),
        };
        let was = before[0].flatten();
        if is_beside && is_beside_in_file && is_alike(self.before.gap(was), printed) {
            return self.file.gap(here.flatten().map(ours)).to_owned();
        }
        let is_in_body = |leaf: usize| self.now.leaves.get(leaf).is_some_and(|leaf| leaf.list == In::Body);
        match leaf {
            Some(leaf)
                if is_in_body(leaf)
                    && is_in_body(next)
                    && self.now.leaves[leaf].scope == self.now.leaves[next].scope =>
            {
                self.between_statements(leaf, next, printed)
            }
            _ => printed.to_owned(),
        }
    }

    /// The last leaf of the parts of a leaf in the text before, and the leaf itself.
    fn ends(&self, same: Same) -> (usize, usize) {
        let parts = self.places[same.before].map_or(1, |place| place.parts - place.part);
        (same.before + parts - 1, same.before)
    }

    /// The comment after a statement, and the lines before the next one, each from the file if the statement was not touched.
    fn between_statements(&self, leaf: usize, next: usize, printed: &str) -> String {
        let (tail, lead) = split(printed);
        let tail = match self.same[leaf] {
            Some(same) => {
                let (was, _) = split(self.before.gap(Some(self.ends(same).0)));
                let ours = split(self.file.gap(Some(same.file))).0;
                if is_alike(was, tail) { ours } else { tail }
            }
            None => tail,
        };
        let kept = self.same[next].and_then(|same| {
            let was = split(self.before.gap(same.before.checked_sub(1))).1;
            is_alike(was, lead).then(|| split(self.file.gap(same.file.checked_sub(1))).1)
        });
        let lead = kept.map_or_else(|| self.indented(next, lead), str::to_owned);
        format!("{tail}\n{lead}")
    }

    /// Printed lines of a statement with the indentation of the file in place of the printed one.
    fn indented(&self, leaf: usize, lines: &str) -> String {
        let of = &self.now.leaves[leaf];
        let known = self.indents.get(&of.scope).filter(|_| of.list == In::Body && !of.is_bracket);
        let Some(ours) = known else { return lines.to_owned() };
        let printed = indent(self.now.source, of.span.start);
        let line = |line: &str| match line.strip_prefix(printed) {
            Some(rest) => format!("{ours}{rest}"),
            None => line.to_owned(),
        };
        // The first line of a statement is indented by what is before it.
        match lines.strip_prefix(printed) {
            Some(_) => lines.split('\n').map(line).collect::<Vec<_>>().join("\n"),
            None => {
                let mut all = lines.split('\n');
                let first = all.next().unwrap_or_default().to_owned();
                std::iter::once(first).chain(all.map(line)).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Whether two texts between leaves differ in white space alone.
fn is_alike(a: &str, b: &str) -> bool {
    a.split_whitespace().eq(b.split_whitespace())
}

/// The rest of the line of a leaf, and the lines before the next one.
fn split(gap: &str) -> (&str, &str) {
    gap.split_once('\n').unwrap_or((gap, ""))
}

/// The white space at the beginning of the line of a place.
fn indent(source: &str, at: usize) -> &str {
    let line = source[..at].rfind('\n').map_or(0, |end| end + 1);
    let rest = &source[line..at];
    &rest[..rest.len() - rest.trim_start().len()]
}

#[cfg(test)]
mod tests;
