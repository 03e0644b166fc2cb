//! Splits a schedule text into plans, and selects the plan for the current values.

use super::Names;
use super::read::PlanReader;
use super::write::elements;
use crate::plan::{Need, Partition, Plan, PlanContext, Slot, SlotSource};
use foldhash::HashSet;
use onnx_formula::{Elements as _, Mistake, Number, Reader};
use onnx_ir::diag::{Code, Diagnostic, Span, code};
use onnx_ir::{ElemType, EntityId as _, GraphId};
use std::ops::Range;

/// The longest accepted text: places have 32 bits.
const MAX_BYTES: usize = 1 << 30;

/// The text of a schedule and its plans.
#[derive(Debug)]
pub(crate) struct ScheduleFile {
    text: String,
    sections: Vec<PlanText>,
}

/// A plan in a text.
#[derive(Clone, Debug)]
struct PlanText {
    graph: usize,
    nodes: Range<usize>,
    /// The bytes of its first line, and of all other lines.
    header: Range<usize>,
    body: Range<usize>,
}

/// An error in a schedule, with its code.
#[derive(Debug)]
pub(in crate::plan) struct Invalid {
    pub(super) code: &'static Code,
    pub(super) mistake: Mistake,
}

impl From<Mistake> for Invalid {
    fn from(mistake: Mistake) -> Invalid {
        Invalid { code: &code::SCHEDULE_SYNTAX, mistake }
    }
}

/// An illegal plan.
pub(super) fn illegal(at: &Range<usize>, why: impl Into<String>) -> Invalid {
    Invalid { code: &code::SCHEDULE_ILLEGAL, mistake: Mistake::new(at.clone(), why) }
}

/// A plan for another model or other types.
pub(super) fn mismatch(at: &Range<usize>, why: impl Into<String>) -> Invalid {
    Invalid { code: &code::SCHEDULE_MISMATCH, mistake: Mistake::new(at.clone(), why) }
}

/// A name for messages.
pub(super) fn shown(name: &str) -> String {
    format!("`{name}`")
}

impl Invalid {
    /// Converts to a diagnostic; `first` is the offset of the parsed part in the text.
    fn diagnostic(self, first: usize) -> Box<Diagnostic> {
        let byte = |at: usize| u32::try_from(first + at).unwrap_or(u32::MAX);
        let span = Span::new(byte(self.mistake.at.start), byte(self.mistake.at.end));
        Box::new(Diagnostic::new(self.code, span, self.mistake.why))
    }
}

impl ScheduleFile {
    /// Splits a text into plans.
    pub(crate) fn parse(text: &str) -> Result<ScheduleFile, Box<Diagnostic>> {
        let sections = sections(text).map_err(|mistake| Invalid::from(mistake).diagnostic(0))?;
        Ok(ScheduleFile { text: text.to_owned(), sections })
    }

    /// The plans for the nodes of a graph from `at` on.
    fn sections(&self, graph: GraphId, at: usize) -> impl Iterator<Item = &PlanText> {
        let graph = graph.index();
        self.sections.iter().filter(move |section| section.graph == graph && section.nodes.start == at)
    }

    /// The plan for the nodes of a graph from `at` on and the current values; `None` if the text has no plan for these nodes.
    /// `define` returns the formulas of the nodes; its argument is whether they may depend on elements of current values.
    pub(crate) fn plan(
        &self,
        context: &PlanContext<'_>,
        at: usize,
        define: &mut dyn FnMut(bool) -> Result<Partition, Box<Diagnostic>>,
    ) -> Result<Option<Plan>, Box<Diagnostic>> {
        let mut first = None;
        for section in self.sections(context.graph, at) {
            let body = &self.text[section.body.clone()];
            let reads =
                reads(body).map_err(|mistake| Invalid::from(mistake).diagnostic(section.body.start))?;
            let may_assume = reads.iter().any(|read| read.elements.is_some());
            let partition = define(may_assume)?;
            if let Err(wrong) = fits(&reads, &partition, context.names) {
                first.get_or_insert(wrong.diagnostic(section.body.start));
                continue;
            }
            if partition.end != section.nodes.end {
                let why = format!(
                    "for these inputs, nodes {}..{} form one plan, not {}..{}",
                    section.nodes.start, partition.end, section.nodes.start, section.nodes.end
                );
                first.get_or_insert(mismatch(&section.header, why).diagnostic(0));
                // Conditions on sequences and optionals are not printed.
                continue;
            }
            let built = PlanReader::new(body, partition, context).and_then(PlanReader::plan);
            return built.map(Some).map_err(|wrong| wrong.diagnostic(section.body.start));
        }
        first.map_or(Ok(None), Err)
    }
}

/// Finds the headers of plans: `plan of nodes 0..5 in graph 0`.
fn sections(text: &str) -> Result<Vec<PlanText>, Mistake> {
    if text.len() > MAX_BYTES {
        return Err(Mistake::new(0..0, "the text has more than 1 GiB"));
    }
    let mut reader = Reader::new(text)?;
    let mut sections: Vec<PlanText> = Vec::new();
    if reader.peek() != "plan" {
        return Err(reader.unexpected("`plan`"));
    }
    while !reader.is_at_end() {
        let from = reader.place();
        if !reader.eat("plan") {
            reader.skip();
            continue;
        }
        let mark = reader.mark();
        if !(reader.eat("of") && reader.eat("nodes")) {
            // A value can have this name.
            reader.back_to(mark);
            continue;
        }
        let first = reader.count()?;
        reader.expect("..")?;
        let nodes = first..reader.count()?;
        reader.expect("in")?;
        reader.expect("graph")?;
        let graph = reader.count()?;
        let header = reader.since(&from);
        if let Some(last) = sections.last_mut() {
            last.body.end = header.start;
        }
        let body = header.end..text.len();
        sections.push(PlanText { graph, nodes, header, body });
    }
    Ok(sections)
}

/// A condition on an input.
pub(super) struct ReadClause {
    name: String,
    elem: ElemType,
    dims: Vec<usize>,
    elements: Option<Vec<Number>>,
    at: Range<usize>,
}

/// Parses `reads float[64,128] X` and `reads int64[2] shape = {1, 2}` at the start of a plan.
fn reads(body: &str) -> Result<Vec<ReadClause>, Mistake> {
    let mut reader = Reader::new(body)?;
    let mut reads = Vec::new();
    while reader.peek() == "reads" {
        reads.push(read(&mut reader)?);
    }
    Ok(reads)
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<ReadClause, Mistake> {
    let from = reader.place();
    reader.expect("reads")?;
    let (elem, dims) = reader.ty()?;
    let name = reader.name()?;
    let mut elements = None;
    if reader.eat("=") {
        reader.expect("{")?;
        let mut numbers = Vec::new();
        while !reader.eat("}") {
            if !numbers.is_empty() {
                reader.expect(",")?;
            }
            numbers.push(reader.number()?.wrap(elem));
        }
        elements = Some(numbers);
    }
    Ok(ReadClause { name, elem, dims, elements, at: reader.since(&from) })
}

/// Whether the current values satisfy the conditions of a plan.
fn fits(reads: &[ReadClause], partition: &Partition, names: &dyn Names) -> Result<(), Invalid> {
    let name = |value| names.value(value);
    let mut found: HashSet<usize> = HashSet::default();
    for read in reads {
        let (elem, dims) = (read.elem, &read.dims[..]);
        let expected = Slot::new(elem, dims.to_vec(), SlotSource::Formula).ty();
        let mut other = None;
        let at = partition.needs.iter().enumerate().position(|(at, (value, need))| {
            let is_it = name(*value) == read.name && !found.contains(&at);
            match need {
                _ if !is_it => false,
                Need::Tensor(of, extents) => {
                    let actual = Slot::new(*of, extents.to_vec(), SlotSource::Formula).ty();
                    let is_same = actual == expected && read.elements.is_none();
                    other = other.take().or((!is_same).then_some(actual));
                    is_same
                }
                Need::Elements(tensor) => {
                    let actual = (0..tensor.len()).map(|at| tensor.number(at));
                    let is_same = tensor.elem() == elem
                        && tensor.dims() == dims
                        && read
                            .elements
                            .as_ref()
                            .is_some_and(|expected| expected.iter().copied().map(Some).eq(actual));
                    other = other.take().or((!is_same).then(|| elements(tensor)));
                    is_same
                }
                Need::Other(_) => false,
            }
        });
        match (at, other) {
            (Some(at), _) => {
                found.insert(at);
            }
            (None, Some(actual)) => {
                let why = format!("this schedule is for other inputs: {} is {actual}", shown(&read.name));
                return Err(mismatch(&read.at, why));
            }
            (None, None) => {
                let why = format!("these nodes do not read {}", shown(&read.name));
                return Err(mismatch(&read.at, why));
            }
        }
    }
    let missing = partition
        .needs
        .iter()
        .enumerate()
        .find(|(at, (_, need))| !found.contains(at) && !matches!(need, Need::Other(_)));
    if let Some((_, (value, _))) = missing {
        let why = format!("`reads` is missing for {}", shown(name(*value)));
        return Err(mismatch(&(0..0), why));
    }
    Ok(())
}
