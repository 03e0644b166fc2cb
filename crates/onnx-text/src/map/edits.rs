//! Converts model changes to edits of the text that the model was lowered from.
//!
//! Changed items are replaced or removed with their annotations and documentation, which would otherwise apply to something else;
//! so are the comments on the lines above a statement and the one after it. All other comments stay. Lines that become empty are
//! removed.
//!
//! ```text
//! {                                {
//!    y = Add(x, w)  # sum     →       w_for_y = Cast <to = 1> (w)
//!    dead = Abs(x)                    y = Add(x, w_for_y)  # sum
//! }                                }
//! ```

use super::{Scope, SourceMap};
use crate::ast::{Field, FieldValue, List, Node, Notes, SugarForm};
use crate::identifier::name_text;
use onnx_ir::diag::{Edit, Entity, ModelChange, Span};
use onnx_ir::{BodyId, ElemType, FunctionId, GraphId, NodeId};

impl SourceMap<'_> {
    /// The edits for these changes, in order and without overlap; `None` if the text has no place for one.
    pub fn edits(&self, changes: &[ModelChange]) -> Option<Vec<Edit>> {
        let mut edits = Vec::new();
        for change in changes {
            match change {
                ModelChange::Rename(entity, name) => self.rename(*entity, name, &mut edits)?,
                ModelChange::Remove(entity) => self.remove(*entity, &mut edits)?,
                ModelChange::Cast(operand, elem) => self.cast(*operand, *elem, &mut edits)?,
                ModelChange::Import(function, domain, version) => {
                    self.import(*function, domain, *version, &mut edits)?;
                }
                ModelChange::Order(body, graph, nodes) => self.order(*body, *graph, nodes, &mut edits)?,
            }
        }
        edits.sort_by_key(|edit| edit.span);
        let is_apart = edits.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start);
        is_apart.then_some(edits)
    }

    fn rename(&self, entity: Entity, name: &str, edits: &mut Vec<Edit>) -> Option<()> {
        let span = match entity {
            Entity::NodeOp(b, n) => self.node(b, n).filter(|node| node.form() == SugarForm::Call)?.op,
            Entity::NodeInput(b, n, i) => {
                let node = self.node(b, n)?;
                let span = *node.inputs.get(i as usize)?;
                node.named_inputs().find(|input| *input == span)?
            }
            Entity::Attr(b, n, i) => self.attr(b, n, i)?.name,
            _ => return None,
        };
        (!span.is_empty()).then(|| edits.push(Edit { span, text: name_text(name) }))
    }

    fn remove(&self, entity: Entity, edits: &mut Vec<Edit>) -> Option<()> {
        match entity {
            Entity::Node(b, n) => {
                // A part of an expression has no place of its own.
                let node = self.node(b, n).filter(|node| node.sugar.is_none() && !node.outputs.is_empty())?;
                self.take_out_comments(node.notes.start().unwrap_or(node.span.start), edits);
                self.take_out_notes(&node.notes, edits);
                self.take_out(node.span, edits);
            }
            Entity::Function(f) => {
                let function = self.function(f)?;
                self.take_out_comments(function.notes.start().unwrap_or(function.span.start), edits);
                self.take_out_notes(&function.notes, edits);
                self.take_out(function.span, edits);
            }
            Entity::OpsetImport(i) => {
                let (list, at) = self.element_at(self.header()?, "opset_import", i)?;
                self.take_entry(list, at, |e| e.span(), edits)?;
            }
            Entity::FunctionOpsetImport(f, i) => {
                let header = &self.function(f)?.header.as_ref()?.items;
                let (list, at) = self.element_at(header, "opset_import", i)?;
                self.take_entry(list, at, |e| e.span(), edits)?;
            }
            Entity::ModelMetadata(i) => {
                let (list, at) = self.element_at(self.header()?, "metadata_props", i)?;
                self.take_entry(list, at, |e| e.span(), edits)?;
            }
            Entity::Attr(b, n, i) => {
                self.node(b, n).filter(|node| !node.has_named_attributes())?;
                let (list, at) = self.attr_at(b, n, i)?;
                self.take_out_notes(&list.items[at].notes, edits);
                self.take_entry_or_list(list, at, |a| a.span, edits)?;
            }
            Entity::ValueInfo(b, g, _)
            | Entity::Initializer(b, g, _)
            | Entity::SparseInitializer(b, g, _) => {
                self.remove_value(self.scope(b, g)?, self.span(entity)?, edits)?;
            }
            _ => return None,
        }
        Some(())
    }

    fn remove_value(&self, scope: Scope<'_>, span: Span, edits: &mut Vec<Edit>) -> Option<()> {
        let list = scope.list?;
        // An input in the signature is more than a list item and cannot be removed.
        let at = list.items.binary_search_by_key(&span.start, |item| item.span.start).ok()?;
        let item = &list.items[at];
        self.take_out_comments(item.notes.start().unwrap_or(item.span.start), edits);
        self.take_out_notes(&item.notes, edits);
        self.take_entry_or_list(list, at, |v| v.span, edits)
    }

    /// The start of the comments on lines of their own directly above a place, if there are any.
    fn comments_above(&self, at: u32) -> Option<usize> {
        let line = self.line_start(at);
        if !self.source[line..at as usize].trim().is_empty() {
            return None;
        }
        let mut start = line;
        while let Some(end) = start.checked_sub(1) {
            let above = self.source[..end].rfind('\n').map_or(0, |at| at + 1);
            // The first line of a file may declare annotations.
            if above == 0 || !is_comment(&self.source[above..end]) {
                break;
            }
            start = above;
        }
        (start < line).then_some(start)
    }

    /// Removes the comments on the lines right above a place.
    fn take_out_comments(&self, at: u32, edits: &mut Vec<Edit>) {
        if let Some(start) = self.comments_above(at) {
            edits.extend(edit(start, self.line_start(at), String::new()));
        }
    }

    fn take_out_notes(&self, notes: &Notes, edits: &mut Vec<Edit>) {
        for &span in notes.docs().iter().chain(notes.lines().iter().map(|line| &line.span)) {
            self.take_out(span, edits);
        }
    }

    /// Removes a statement or a list with the comment after it, and the line if it becomes empty.
    fn take_out(&self, span: Span, edits: &mut Vec<Edit>) {
        let line = self.line_start(span.start);
        let (before, after) = (&self.source[line..span.start as usize], self.rest_of_line(span.end));
        let (is_first, is_last) = (before.trim().is_empty(), after.trim().is_empty() || is_comment(after));
        let (start, end) = match (is_first, is_last) {
            (true, true) => (line, (span.end as usize + after.len() + 1).min(self.source.len())),
            (false, true) => (line + before.trim_end().len(), span.end as usize + after.trim_end().len()),
            (_, false) => {
                let blanks = after.len() - after.trim_start_matches([' ', '\t']).len();
                (span.start as usize, span.end as usize + blanks)
            }
        };
        edits.extend(edit(start, end, String::new()));
    }

    /// Removes the entry of a list with the comma that it needs no more.
    fn take_entry<T>(
        &self,
        list: &List<T>,
        at: usize,
        span: impl Fn(&T) -> Span,
        edits: &mut Vec<Edit>,
    ) -> Option<()> {
        let own = span(list.items.get(at)?);
        let (next, before) = (list.items.get(at + 1), at.checked_sub(1).map(|i| span(&list.items[i])));
        let (from, to) = match (next, before) {
            (Some(next), _) => (own.end, span(next).start),
            (None, Some(before)) => (before.end, own.start),
            (None, None) => {
                edits.extend(edit(own.start as usize, own.end as usize, String::new()));
                return Some(());
            }
        };
        let between = self.source.get(from as usize..to as usize)?;
        if between.trim() == "," {
            edits.extend(edit(own.start.min(from) as usize, own.end.max(to) as usize, String::new()));
            return Some(());
        }
        // There are comments between the two, which stay.
        let comma = u32::try_from(comma(between)?).ok()? + from;
        if from == own.end && self.source[own.end as usize..comma as usize].trim().is_empty() {
            self.take_out(Span::new(own.start, comma + 1), edits);
        } else {
            edits.extend(edit(comma as usize, comma as usize + 1, String::new()));
            self.take_out(own, edits);
        }
        Some(())
    }

    /// Like [`take_entry`](Self::take_entry); the brackets go with the only entry.
    fn take_entry_or_list<T>(
        &self,
        list: &List<T>,
        at: usize,
        span: impl Fn(&T) -> Span,
        edits: &mut Vec<Edit>,
    ) -> Option<()> {
        let [only] = &list.items[..] else { return self.take_entry(list, at, span, edits) };
        let own = span(only);
        let is_blank = |from: u32, to: u32| self.source[from as usize..to as usize].trim().is_empty();
        if is_blank(list.span.start + 1, own.start) && is_blank(own.end, list.span.end - 1) {
            self.take_out(list.span, edits);
        } else {
            self.take_out(own, edits);
        }
        Some(())
    }

    fn cast(&self, operand: Entity, elem: ElemType, edits: &mut Vec<Edit>) -> Option<()> {
        let Entity::NodeInput(b, n, i) = operand else { return None };
        let node = self.node(b, n).filter(|node| node.sugar.is_none() && !node.outputs.is_empty())?;
        let span = *node.inputs.get(i as usize)?;
        let (body, names) = (&self.model.bodies[b], &self.model.names);
        let value = body.nodes[n].inputs.get(i as usize).copied()??;
        let reader = body.nodes[n].outputs.iter().flatten().next()?;
        let stem = format!("{}_for_{}", &names[body.values[value].name], &names[body.values[*reader].name]);
        let mut name = stem.clone();
        let mut number = 1;
        while names.find(&name).is_some() {
            number += 1;
            name = format!("{stem}_{number}");
        }
        let name = name_text(&name);
        let statement = format!("{name} = Cast <to = {}> ({})", elem.0, &self.source[span.range()]);
        self.insert_before(node, &[statement], edits);
        edits.push(Edit { span, text: name });
        Some(())
    }

    /// Puts statements before a node: on lines of their own, if the node begins a line.
    fn insert_before(&self, node: &Node, statements: &[String], edits: &mut Vec<Edit>) {
        let start = node.notes.start().unwrap_or(node.span.start);
        let line = self.line_start(start);
        let indent = &self.source[line..start as usize];
        if indent.trim().is_empty() {
            let text = statements.iter().map(|s| format!("{indent}{s}\n")).collect();
            let line = self.comments_above(start).unwrap_or(line);
            edits.extend(edit(line, line, text));
        } else {
            let text = statements.iter().map(|s| format!("{} ", beside(s))).collect();
            edits.extend(edit(start as usize, start as usize, text));
        }
    }

    fn import(
        &self,
        function: Option<FunctionId>,
        domain: &str,
        version: i64,
        edits: &mut Vec<Edit>,
    ) -> Option<()> {
        let header = match function {
            Some(f) => self.function(f)?.header.as_ref()?,
            None => self.file.header.as_ref()?,
        };
        let domain = domain.replace('\\', "\\\\").replace('"', "\\\"");
        let import = format!("\"{domain}\": {version}");
        let is_imports = |f: &&Field| self.text(f.key) == "opset_import";
        let (at, text) = match header.items.iter().rev().find(is_imports).map(|f| &f.value) {
            Some(FieldValue::List(list)) => match list.items.last() {
                Some(last) => (last.span().end, format!(", {import}")),
                None => (list.span.start + 1, import),
            },
            Some(_) => return None,
            None => match header.items.last() {
                Some(last) => (last.value.span().end, format!(", opset_import: [{import}]")),
                None => (header.span.start + 1, format!("opset_import: [{import}]")),
            },
        };
        edits.push(Edit { span: Span::at(at), text });
        Some(())
    }

    /// Moves as few statements as possible, each with its annotations and comments.
    fn order(&self, b: BodyId, g: GraphId, nodes: &[NodeId], edits: &mut Vec<Edit>) -> Option<()> {
        let places: Vec<&Node> = nodes.iter().map(|&n| self.node(b, n)).collect::<Option<_>>()?;
        if places.len() != self.scope(b, g)?.body.len() {
            return None;
        }
        let stays = longest_ascent(&places.iter().map(|n| n.span.start).collect::<Vec<_>>());
        let mut moved: Vec<String> = Vec::new();
        for (node, stays) in places.iter().zip(&stays) {
            if *stays {
                if !moved.is_empty() {
                    self.insert_before(node, &std::mem::take(&mut moved), edits);
                }
                continue;
            }
            let start = node.notes.start().unwrap_or(node.span.start);
            match self.lines_of(node) {
                Some((line, end)) => {
                    // The first line gets the indentation of the place.
                    let start = line + (self.source[line..].len() - self.source[line..].trim_start().len());
                    moved.push(self.source[start..end].to_owned());
                    edits.extend(edit(line, (end + 1).min(self.source.len()), String::new()));
                }
                None => {
                    let span = Span::new(start, node.span.end);
                    moved.push(self.source[span.range()].to_owned());
                    self.take_out(span, edits);
                }
            }
        }
        if !moved.is_empty() {
            let last = places.iter().zip(&stays).rev().find(|(_, stays)| **stays)?.0;
            let (at, text) = match self.lines_of(last) {
                Some((line, end)) => {
                    let indent: &str = &self.source[line..];
                    let indent = &indent[..indent.len() - indent.trim_start_matches([' ', '\t']).len()];
                    (end, moved.iter().map(|s| format!("\n{indent}{s}")).collect())
                }
                None => (last.span.end as usize, moved.iter().map(|s| format!(" {}", beside(s))).collect()),
            };
            edits.extend(edit(at, at, text));
        }
        Some(())
    }

    /// From the start of the first line of a statement, or of the comments above it, to the end of the comment after it, if
    /// nothing else is on these lines.
    fn lines_of(&self, node: &Node) -> Option<(usize, usize)> {
        let start = node.notes.start().unwrap_or(node.span.start);
        let line = self.line_start(start);
        let rest = self.rest_of_line(node.span.end);
        let is_alone = self.source[line..start as usize].trim().is_empty()
            && (rest.trim().is_empty() || is_comment(rest));
        let line = self.comments_above(start).unwrap_or(line);
        is_alone.then(|| (line, node.span.end as usize + rest.trim_end().len()))
    }

    fn line_start(&self, at: u32) -> usize {
        self.index.line_start(self.source, at)
    }

    fn rest_of_line(&self, at: u32) -> &str {
        &self.source[at as usize..self.index.line_end(self.source, at)]
    }
}

/// Whether a line, or the rest of one, is a comment.
fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('#') || text.starts_with("//")
}

fn edit(start: usize, end: usize, text: String) -> Option<Edit> {
    let at = |at: usize| u32::try_from(at).ok();
    Some(Edit { span: Span::new(at(start)?, at(end)?), text })
}

/// A statement in a form that can share a line with another; not for comments and annotations.
fn beside(statement: &str) -> String {
    if statement.contains('#') { format!("\n{statement}\n") } else { statement.to_owned() }
}

/// The place of the comma, outside comments.
fn comma(text: &str) -> Option<usize> {
    let mut in_comment = false;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '#' => in_comment = true,
            '\n' => in_comment = false,
            ',' if !in_comment => return Some(at),
            _ => {}
        }
        None
    })
}

/// Which of these are in the longest ascending run, others between them, in `n log n`.
fn longest_ascent(list: &[u32]) -> Vec<bool> {
    // The last element of the best run of each length, and the predecessor of each element.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(list.len());
    for (at, &number) in list.iter().enumerate() {
        let length = ends.partition_point(|&end| list[end] < number);
        before.push(length.checked_sub(1).map(|l| ends[l]));
        if length == ends.len() { ends.push(at) } else { ends[length] = at }
    }
    let mut is_in = vec![false; list.len()];
    let mut next = ends.last().copied();
    while let Some(at) = next {
        is_in[at] = true;
        next = before[at];
    }
    is_in
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascents_are_the_longest() {
        assert_eq!(longest_ascent(&[5, 1, 2, 9, 3]), [false, true, true, false, true]);
        assert_eq!(longest_ascent(&[]), [false; 0]);
    }

    #[test]
    fn statements_move_with_what_belongs_to_them() {
        let text = "#@ onnxtxt 1\ng (float[N] x) => (float[N] y)\n{\n   y = Relu(t)  # last\n   # of t too\n   ## of t\n   t = Abs(x)  # first\n}\n";
        let parsed = crate::parse_model(text);
        let model = crate::lower(text, &parsed.value).value;
        let map = SourceMap::new(text, &parsed.value.tree, &model);
        let body = model.main.expect("a main graph");
        let graph = model.bodies[body].root().expect("a root");
        let order = model.bodies[body].nodes.ids().rev().collect();
        let edits = map.edits(&[ModelChange::Order(body, graph, order)]).expect("edits");
        let (fixed, _) = crate::check::apply(text, [&edits[..]]);
        let expected = "#@ onnxtxt 1\ng (float[N] x) => (float[N] y)\n{\n   # of t too\n   ## of t\n   t = Abs(x)  # first\n   y = Relu(t)  # last\n}\n";
        assert_eq!(fixed, expected);
    }
}
