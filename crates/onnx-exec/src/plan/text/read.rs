//! Plans read from text.

use super::legal;
use super::write::{elements, names};
use crate::compile::Executable;
use crate::loops::{Choice, Form, Nest};
use crate::plan::define::{Item, Stretch};
use crate::plan::{Assignment, Kernel, Need, Place, Plan, Slot, Source, Step, constants, group, place, root};
use crate::run::Run;
use foldhash::{HashMap, HashSet};
use onnx_ir::diag::{Code, Diagnostic, Span, code};
use onnx_ir::{ElemType, EntityId as _, GraphId, NodeId};
use onnx_ops::meaning::{Elements as _, Formula, Mistake, Number, Reader, quoted};
use smallvec::SmallVec;
use std::ops::Range;

/// Longer texts are refused: places in them have 32 bits.
const MOST_BYTES: usize = 1 << 30;

/// The text of a schedule, and the plans in it.
#[derive(Debug)]
pub(crate) struct Given {
    text: String,
    sections: Vec<Section>,
}

/// A plan in a text.
#[derive(Clone, Debug)]
struct Section {
    graph: usize,
    nodes: Range<usize>,
    /// The bytes of its first line, and of all others.
    header: Range<usize>,
    body: Range<usize>,
}

/// What is wrong with a text: a mistake, and what kind of one.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) code: &'static Code,
    pub(super) mistake: Mistake,
}

impl From<Mistake> for Wrong {
    fn from(mistake: Mistake) -> Wrong {
        Wrong { code: &code::SCHEDULE_SYNTAX, mistake }
    }
}

/// What is wrong with a schedule that can be read.
pub(super) fn illegal(at: &Range<usize>, why: impl Into<String>) -> Wrong {
    Wrong { code: &code::SCHEDULE_ILLEGAL, mistake: Mistake::new(at.clone(), why) }
}

/// A schedule that belongs to something else.
pub(super) fn foreign(at: &Range<usize>, why: impl Into<String>) -> Wrong {
    Wrong { code: &code::SCHEDULE_MISMATCH, mistake: Mistake::new(at.clone(), why) }
}

impl Wrong {
    /// As a finding, in a text of which a part begins at some byte.
    fn told(self, first: usize) -> Box<Diagnostic> {
        let byte = |at: usize| u32::try_from(first + at).unwrap_or(u32::MAX);
        let span = Span::new(byte(self.mistake.at.start), byte(self.mistake.at.end));
        Box::new(Diagnostic::new(self.code, span, self.mistake.why))
    }
}

impl Given {
    /// Finds the plans of a text.
    pub(crate) fn of(text: &str) -> Result<Given, Box<Diagnostic>> {
        let sections = sections(text).map_err(|mistake| Wrong::from(mistake).told(0))?;
        Ok(Given { text: text.to_owned(), sections })
    }

    /// Whether there is one plan, for the first node of the model.
    pub(crate) fn is_of_one_plan(&self) -> bool {
        matches!(&self.sections[..], [section] if section.graph == 0 && section.nodes.start == 0)
    }

    /// The plans for the nodes of a graph from one of them on.
    fn sections(&self, graph: GraphId, at: usize) -> impl Iterator<Item = &Section> {
        let graph = graph.index();
        self.sections.iter().filter(move |section| section.graph == graph && section.nodes.start == at)
    }

    /// The plan of the text for the nodes of a graph from one of them on, and the values that there are; none if the text says
    /// nothing of these nodes.
    pub(crate) fn plan(
        &self,
        run: &mut Run<'_, '_>,
        graph: GraphId,
        at: usize,
    ) -> Result<Option<Plan>, Box<Diagnostic>> {
        let mut first = None;
        for section in self.sections(graph, at) {
            let body = &self.text[section.body.clone()];
            let reads = reads(body).map_err(|mistake| Wrong::from(mistake).told(section.body.start))?;
            let may_assume = reads.iter().any(|read| read.elements.is_some());
            let stretch = Stretch::of(run, graph, at, may_assume)?;
            if let Err(wrong) = fits(&reads, &stretch, run) {
                first.get_or_insert(wrong.told(section.body.start));
                continue;
            }
            if stretch.end != section.nodes.end {
                let why = format!(
                    "for such inputs the nodes {}..{} are planned together, and not {}..{}",
                    section.nodes.start, stretch.end, section.nodes.start, section.nodes.end
                );
                return Err(foreign(&section.header, why).told(0));
            }
            let built = Build::of(body, stretch, run.executable, graph, at).and_then(Build::plan);
            return built.map(Some).map_err(|wrong| wrong.told(section.body.start));
        }
        first.map_or(Ok(None), Err)
    }
}

/// Finds where plans begin: `plan of nodes 0..5 in graph 0`.
fn sections(text: &str) -> Result<Vec<Section>, Mistake> {
    if text.len() > MOST_BYTES {
        return Err(Mistake::new(0..0, "the text has more than 1 GiB"));
    }
    let mut reader = Reader::new(text)?;
    let mut sections: Vec<Section> = Vec::new();
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
            // A value may have this name.
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
        sections.push(Section { graph, nodes, header, body });
    }
    Ok(sections)
}

/// What a plan takes for granted.
struct Read {
    name: String,
    elem: ElemType,
    dims: Vec<usize>,
    elements: Option<Vec<Number>>,
    at: Range<usize>,
}

/// `reads float[64,128] X` and `reads int64[2] shape = {1, 2}`, at the beginning of a plan.
fn reads(body: &str) -> Result<Vec<Read>, Mistake> {
    let mut reader = Reader::new(body)?;
    let mut reads = Vec::new();
    while reader.peek() == "reads" {
        reads.push(read(&mut reader)?);
    }
    Ok(reads)
}

fn read(reader: &mut Reader<'_>) -> Result<Read, Mistake> {
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
            numbers.push(reader.number()?);
        }
        elements = Some(numbers);
    }
    Ok(Read { name, elem, dims, elements, at: reader.since(&from) })
}

/// Whether the values that there are are those that a plan reads.
fn fits(reads: &[Read], stretch: &Stretch, run: &Run<'_, '_>) -> Result<(), Wrong> {
    let name = |value| run.executable.value_name(value);
    let mut found: HashSet<usize> = HashSet::default();
    for read in reads {
        let (elem, dims) = (read.elem, &read.dims[..]);
        let said = Slot::new(elem, dims.to_vec(), Source::Formula).ty();
        let mut other = None;
        let at = stretch.needs.iter().enumerate().position(|(at, (value, need))| {
            let is_it = name(*value) == read.name && !found.contains(&at);
            match need {
                _ if !is_it => false,
                Need::Tensor(of, extents) => {
                    let there = Slot::new(*of, extents.to_vec(), Source::Formula).ty();
                    let is_same = there == said && read.elements.is_none();
                    other = other.take().or((!is_same).then_some(there));
                    is_same
                }
                Need::Elements(tensor) => {
                    let there = (0..tensor.len()).map(|at| tensor.number(at));
                    let is_same = tensor.elem() == elem
                        && tensor.dims() == dims
                        && read.elements.as_ref().is_some_and(|said| said.iter().copied().map(Some).eq(there));
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
            (None, Some(there)) => {
                let why = format!("the schedule is for other inputs: `{}` is {there}", read.name);
                return Err(foreign(&read.at, why));
            }
            (None, None) => {
                let why = format!("the nodes of this plan read no `{}` from before them", read.name);
                return Err(foreign(&read.at, why));
            }
        }
    }
    let missing = stretch.needs.iter().enumerate().find(|(at, (_, need))| {
        !found.contains(at) && !matches!(need, Need::Other(_))
    });
    if let Some((_, (value, _))) = missing {
        let why = format!("the nodes of this plan also read {}", quoted(name(*value)));
        return Err(foreign(&(0..0), why));
    }
    Ok(())
}

/// A plan that is being read.
struct Build<'t, 'x, 'r> {
    reader: Reader<'t>,
    executable: &'x Executable<'r>,
    start: usize,
    nodes: &'x [NodeId],
    stretch: Stretch,
    /// The slots of the nodes' formulas, before anything of the text.
    definition: Vec<Slot>,
    /// Their formulas.
    formulas: Vec<(usize, Formula)>,
    slots: HashMap<String, usize>,
    /// Whether the text has said what a slot is.
    is_said: Vec<bool>,
    places: Vec<Place>,
    /// Where the text says what a slot is.
    said_at: HashMap<usize, Range<usize>>,
    steps: Vec<Step>,
    /// Where each step stands.
    steps_at: Vec<Range<usize>>,
}

impl<'t, 'x, 'r> Build<'t, 'x, 'r> {
    fn of(
        text: &'t str,
        stretch: Stretch,
        executable: &'x Executable<'r>,
        graph: GraphId,
        start: usize,
    ) -> Result<Self, Wrong> {
        let names = names(&stretch.slots, &stretch.named, executable);
        let slots = names.into_iter().enumerate().map(|(slot, name)| (name, slot)).collect();
        let is_there = |slot: &Slot| matches!(slot.source, Source::Value(_) | Source::Constant(_));
        let formula = |item: &Item| match item {
            Item::Formula(it) => Some((it.slot, it.formula.clone())),
            Item::Node(_) => None,
        };
        Ok(Build {
            reader: Reader::new(text)?,
            executable,
            start,
            nodes: &executable.body().graphs[graph].nodes,
            definition: stretch.slots.clone(),
            formulas: stretch.items.iter().filter_map(formula).collect(),
            is_said: stretch.slots.iter().map(is_there).collect(),
            places: vec![Place::Elsewhere; stretch.slots.len()],
            stretch,
            slots,
            said_at: HashMap::default(),
            steps: Vec::new(),
            steps_at: Vec::new(),
        })
    }

    fn plan(mut self) -> Result<Plan, Wrong> {
        while self.reader.peek() == "reads" {
            read(&mut self.reader)?;
        }
        while !self.reader.is_at_end() {
            let from = self.reader.place();
            match self.reader.peek() {
                "constant" => self.constant()?,
                "alias" => self.alias()?,
                "kernel" => {
                    let kernel = self.kernel()?;
                    self.steps.push(Step::Kernel(Box::new(kernel)));
                    self.steps_at.push(self.reader.since(&from));
                }
                "node" => {
                    let node = self.node()?;
                    self.steps.push(Step::Node(node));
                    self.steps_at.push(self.reader.since(&from));
                }
                _ => return Err(self.reader.unexpected("`constant`, `alias`, `kernel` or `node`").into()),
            }
        }
        self.finish()
    }

    fn finish(mut self) -> Result<Plan, Wrong> {
        let end = self.reader.place();
        self.are_nodes_run(&end)?;
        for (value, slot) in &self.stretch.published {
            let slot = root(&self.stretch.slots, *slot);
            if !self.is_said[slot] {
                let name = self.executable.value_name(*value);
                return Err(illegal(&end, format!("nothing computes {}, which is read elsewhere", quoted(name))));
            }
            if matches!(self.stretch.slots[slot].source, Source::Formula) {
                if self.places[slot] != Place::Elsewhere {
                    let name = quoted(self.executable.value_name(*value));
                    let at = self.said_at.get(&slot).cloned().unwrap_or(0..0);
                    return Err(illegal(&at, format!("{name} is read elsewhere, and has no place in this plan")));
                }
                self.places[slot] = Place::Own;
            }
        }
        let is_homeless = |step: &Step| match step {
            Step::Kernel(kernel) => {
                let mut slots = kernel.members.iter().map(|member| member.assignment.slot);
                slots.find(|slot| self.places[*slot] == Place::Elsewhere)
            }
            _ => None,
        };
        if let Some(slot) = self.steps.iter().find_map(is_homeless) {
            return Err(self.wrong(slot, "a result that only this plan reads lies `at` a byte or `in block`"));
        }
        legal::layouts(&self.definition, &self.stretch.slots).map_err(|(slot, why)| self.wrong(slot, why))?;
        let Stretch { end: last, needs, slots, published, named, expected, folded, .. } = self.stretch;
        constants::pack(&mut self.steps, &slots, self.executable);
        legal::order(&self.steps, &slots, &published, self.executable)
            .map_err(|(step, why)| illegal(&self.steps_at[step], why))?;
        let arena = legal::arena(&self.places, &slots);
        let nodes = &self.nodes[self.start..last];
        let steps = place::steps(self.steps, &slots, &self.places, &published, self.executable, nodes);
        let plan = Plan {
            nodes: self.start..last,
            needs,
            slots,
            folded,
            places: self.places,
            steps,
            arena,
            refused: HashMap::default(),
            expected,
            named,
            rooms: Default::default(),
        };
        let at = |slot: usize| self.said_at.get(&slot).cloned().unwrap_or(0..0);
        if let Some((slot, why)) = plan.mistake() {
            return Err(illegal(&at(slot), why));
        }
        match super::sample::differs(&plan, &self.definition, &self.formulas) {
            Some((slot, why)) => {
                Err(Wrong { code: &code::SCHEDULE_RESULTS, mistake: Mistake::new(at(slot), why) })
            }
            None => Ok(plan),
        }
    }

    /// What is wrong with the formula of a slot.
    fn wrong(&self, slot: usize, why: impl Into<String>) -> Wrong {
        illegal(&self.said_at.get(&slot).cloned().unwrap_or(0..0), why)
    }

    /// Whether nodes that are no formulas are run, each of them once.
    fn are_nodes_run(&self, end: &Range<usize>) -> Result<(), Wrong> {
        for item in &self.stretch.items {
            let Item::Node(node) = item else { continue };
            let count = self.steps.iter().filter(|step| matches!(step, Step::Node(it) if it == node)).count();
            if count != 1 {
                let at = self.nodes.iter().position(|it| it == node).unwrap_or_default();
                let op = self.executable.op(*node);
                return Err(illegal(end, format!("node {at} ({op}) is run {count} times, and has to be run once")));
            }
        }
        Ok(())
    }

    fn node(&mut self) -> Result<NodeId, Wrong> {
        self.reader.expect("node")?;
        let at = self.reader.place();
        let position = self.reader.count()?;
        let is_it = |item: &&Item| matches!(item, Item::Node(node) if self.nodes.get(position) == Some(node));
        match self.stretch.items.iter().find(is_it) {
            Some(Item::Node(node)) => Ok(*node),
            _ => Err(illegal(&at, format!("node {position} is none that is run as it is"))),
        }
    }

    /// The slot that a name stands for; one without a value gets one.
    fn slot(&mut self, name: &str, at: &Range<usize>) -> Result<usize, Wrong> {
        if let Some(slot) = self.slots.get(name) {
            return Ok(*slot);
        }
        let number = name.strip_prefix('%').and_then(|number| number.parse::<usize>().ok());
        // Numbers are no larger than a text can have formulas.
        let most = self.definition.len() + (1 << 20);
        let Some(number) = number.filter(|number| *number < most) else {
            return Err(foreign(at, format!("the nodes of this plan have no value {}", quoted(name))));
        };
        let slots = &mut self.stretch.slots;
        while slots.len() <= number {
            let at = slots.len();
            slots.push(Slot::new(ElemType::FLOAT, vec![0], Source::Formula));
            self.slots.insert(format!("%{at}"), at);
            self.is_said.push(false);
            self.places.push(Place::Elsewhere);
        }
        Ok(number)
    }

    /// Says what a slot is, which has not been said before.
    fn say(
        &mut self,
        (name, at): (&str, &Range<usize>),
        (elem, dims): (ElemType, Vec<usize>),
        source: Source,
    ) -> Result<usize, Wrong> {
        let slot = self.slot(name, at)?;
        if std::mem::replace(&mut self.is_said[slot], true) {
            return Err(illegal(at, format!("{} is there already", quoted(name))));
        }
        if let Some(defined) = self.definition.get(slot) {
            let said = Slot::new(elem, dims.clone(), Source::Formula);
            if defined.elem != elem || defined.count() != said.count() {
                let why = format!("{} is {}, and not {}", quoted(name), defined.ty(), said.ty());
                return Err(foreign(at, why));
            }
        }
        self.stretch.slots[slot] = Slot::new(elem, dims, source);
        self.said_at.insert(slot, at.clone());
        Ok(slot)
    }

    /// Reads a formula, all of whose operands are there.
    fn formula(&mut self) -> Result<(String, Formula, Range<usize>), Wrong> {
        let from = self.reader.place();
        let Build { reader, slots, stretch, is_said, .. } = self;
        let mut find = |name: &str| {
            let slot = *slots.get(name)?;
            is_said[root(&stretch.slots, slot)].then_some(slot)
        };
        let (name, formula) = reader.formula(&mut find)?;
        let at = self.reader.since(&from);
        legal::formula(&formula, &self.stretch.slots).map_err(|why| illegal(&at, why))?;
        Ok((name, formula, at))
    }

    /// `constant float[10] B` of the model, and `constant float[10] %7[i0] = B[i0] * 2.0` that is computed before the run.
    fn constant(&mut self) -> Result<(), Wrong> {
        self.reader.expect("constant")?;
        let (mark, from) = (self.reader.mark(), self.reader.place());
        let (elem, dims) = self.reader.ty()?;
        let name = self.reader.name()?;
        let at = self.reader.since(&from);
        if !matches!(self.reader.peek(), "[" | "=") {
            let slot = self.slots.get(&name).copied();
            let stored = slot.filter(|slot| matches!(self.stretch.slots[*slot].source, Source::Constant(_)));
            let Some(slot) = stored else {
                return Err(foreign(&at, format!("{} is no constant of the model", quoted(&name))));
            };
            let (said, there) = (Slot::new(elem, dims, Source::Formula).ty(), self.stretch.slots[slot].ty());
            if said != there {
                return Err(foreign(&at, format!("{} is {there}", quoted(&name))));
            }
            return Ok(());
        }
        self.reader.back_to(mark);
        let (name, formula, at) = self.formula()?;
        let dims = if self.reader.eat("shape") { self.reader.extents()? } else { formula.dims.clone() };
        let failed = || illegal(&at, "it cannot be computed before the run: it reads what is no constant, or is too large");
        let tensor = constants::evaluated(&formula, &self.stretch.slots).ok().flatten().ok_or_else(failed)?;
        let tensor = tensor.reshaped(&dims).map_err(|why| illegal(&at, why.to_string()))?;
        let slot = self.say((&name, &at), (formula.elem, dims), Source::Constant(tensor))?;
        self.stretch.folded.push((slot, formula));
        Ok(())
    }

    /// `alias float[2,3] y of x`
    fn alias(&mut self) -> Result<(), Wrong> {
        let from = self.reader.place();
        self.reader.expect("alias")?;
        let (elem, dims) = self.reader.ty()?;
        let name = self.reader.name()?;
        self.reader.expect("of")?;
        let at_of = self.reader.place();
        let of = self.reader.name()?;
        let at = self.reader.since(&from);
        let of = self.slot(&of, &at_of)?;
        let slot = self.say((&name, &at), (elem, dims), Source::Alias(of))?;
        if root(&self.stretch.slots[..], of) == slot {
            return Err(illegal(&at, "it is an alias of itself"));
        }
        Ok(())
    }

    /// A kernel and its formulas.
    fn kernel(&mut self) -> Result<Kernel, Wrong> {
        let from = self.reader.place();
        self.reader.expect("kernel")?;
        self.reader.count()?;
        let mut rows = None;
        if self.reader.eat("of") {
            let count = self.reader.count()?;
            self.reader.expect("rows")?;
            self.reader.expect(",")?;
            let at = self.reader.place();
            let block = self.reader.count()?;
            self.reader.expect("at")?;
            self.reader.expect("a")?;
            self.reader.expect("time")?;
            if block == 0 {
                return Err(illegal(&at, "a block has at least one row"));
            }
            rows = Some((count, block));
        }
        let header = self.reader.since(&from);
        let mut members: Vec<Clauses> = Vec::new();
        while ElemType::from_name(self.reader.peek()).is_some() {
            members.push(self.member()?);
        }
        if members.is_empty() {
            return Err(self.reader.unexpected("a formula").into());
        }
        let (rows, block) = match (rows, &members[..]) {
            (Some(rows), _) => rows,
            (None, [one]) => {
                let count = self.stretch.slots[one.slot].count().max(1);
                (count, count)
            }
            (None, _) => {
                return Err(illegal(&header, "a kernel of several formulas says how many rows they have"));
            }
        };
        legal::rows(&members, rows, &self.stretch.slots).map_err(|(at, why)| illegal(&members[at].at, why))?;
        self.assemble(members, rows, block, &header)
    }

    fn assemble(
        &mut self,
        members: Vec<Clauses>,
        rows: usize,
        block: usize,
        header: &Range<usize>,
    ) -> Result<Kernel, Wrong> {
        let is_local: Vec<bool> = members.iter().map(|m| self.places[m.slot] == Place::Local).collect();
        let chosen: Vec<(Option<Choice>, Range<usize>)> =
            members.iter().map(|m| (m.choice, m.at.clone())).collect();
        let is_alone = members.len() == 1;
        let slots = &self.stretch.slots;
        let assignments = members
            .into_iter()
            .map(|m| Assignment { slot: m.slot, formula: m.formula, nodes: m.nodes })
            .collect();
        let wrong = std::cell::RefCell::new(None);
        let made = group::assembled(assignments, rows, &is_local, slots, &|at, formula, types| {
            let (choice, place) = &chosen[at];
            let Some(best) = Nest::of(formula, types) else {
                wrong.replace(Some(illegal(place, "there are no loops for a formula of these types")));
                return None;
            };
            let nest = match choice {
                Some(choice) if *choice != best.choice() => Nest::chosen(formula, types, *choice),
                Some(_) | None => Some(best),
            };
            if let (None, Some(choice)) = (&nest, choice) {
                let why = format!("this formula cannot be computed as `{choice}`");
                wrong.replace(Some(illegal(place, why)));
            }
            nest
        });
        let Some(mut kernel) = made else {
            return Err(wrong.into_inner().unwrap_or_else(|| illegal(header, "there are no loops for it")));
        };
        kernel.block = if is_alone { rows } else { block.min(rows) };
        Ok(kernel)
    }

    /// A formula of a kernel, and how it is run.
    fn member(&mut self) -> Result<Clauses, Wrong> {
        let (name, formula, at) = self.formula()?;
        let mut clauses = Clauses { slot: 0, formula, choice: None, nodes: SmallVec::new(), at };
        let (mut dims, mut axes, mut place) = (None, SmallVec::new(), Place::Elsewhere);
        loop {
            let from = self.reader.place();
            match self.reader.peek() {
                "as" => clauses.choice = Some(self.choice()?),
                "shape" => {
                    self.reader.skip();
                    dims = Some(self.reader.extents()?);
                }
                "axes" => {
                    self.reader.skip();
                    let order = self.reader.extents()?;
                    let byte = |axis: &usize| u8::try_from(*axis).unwrap_or(u8::MAX);
                    axes = order.iter().map(byte).collect();
                }
                "at" => {
                    self.reader.skip();
                    let byte = self.reader.count()?;
                    if byte % place::ALIGN != 0 {
                        let why = format!("a result begins at a multiple of {} bytes", place::ALIGN);
                        return Err(illegal(&self.reader.since(&from), why));
                    }
                    place = Place::Arena(byte);
                }
                "in" => {
                    self.reader.skip();
                    self.reader.expect("block")?;
                    place = Place::Local;
                }
                "for" => {
                    self.reader.skip();
                    self.reader.expect("nodes")?;
                    loop {
                        let at = self.reader.place();
                        let position = self.reader.count()?;
                        let is_here = (self.start..self.stretch.end).contains(&position);
                        let Some(node) = self.nodes.get(position).filter(|_| is_here) else {
                            return Err(foreign(&at, format!("the plan has no node {position}")));
                        };
                        clauses.nodes.push(*node);
                        if !self.reader.eat(",") {
                            break;
                        }
                    }
                }
                _ => break,
            }
        }
        let elem = clauses.formula.elem;
        let dims = dims.unwrap_or_else(|| clauses.formula.dims.clone());
        let at = clauses.at.clone();
        if dims.iter().product::<usize>() != clauses.formula.dims.iter().product::<usize>() {
            return Err(illegal(&at, "its shape has not as many elements as are computed"));
        }
        clauses.slot = self.say((&name, &at), (elem, dims), Source::Formula)?;
        self.stretch.slots[clauses.slot].axes = axes;
        self.places[clauses.slot] = place;
        clauses.at = self.reader.since(&at);
        Ok(clauses)
    }

    /// `as loops along the reduction`, `as matrix product, one pass`
    fn choice(&mut self) -> Result<Choice, Wrong> {
        self.reader.expect("as")?;
        let from = self.reader.place();
        let mut words = String::new();
        let mut found = None;
        // The longest form that these words begin with.
        for _ in 0..3 {
            let word = self.reader.peek();
            if !word.bytes().all(|c| c.is_ascii_alphabetic()) || word.is_empty() {
                break;
            }
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
            self.reader.skip();
            if let Some(form) = Form::named(&words) {
                found = Some((form, self.reader.mark()));
            }
        }
        let Some((form, mark)) = found else {
            let names: Vec<String> = Form::names().map(|name| format!("`{name}`")).collect();
            let why = format!("a formula is computed as {}", names.join(", "));
            return Err(Mistake::new(self.reader.since(&from), why).into());
        };
        self.reader.back_to(mark);
        let is_one_pass = self.reader.eat(",");
        if is_one_pass {
            self.reader.expect("one")?;
            self.reader.expect("pass")?;
        }
        Ok(Choice { form, is_one_pass })
    }
}

/// A formula of a kernel as the text has it.
pub(super) struct Clauses {
    pub(super) slot: usize,
    pub(super) formula: Formula,
    choice: Option<Choice>,
    nodes: SmallVec<[NodeId; 4]>,
    pub(super) at: Range<usize>,
}
