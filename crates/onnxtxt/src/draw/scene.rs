//! The content of a drawing before its layout: boxes, wires, groups.

use super::family::Family;
use crate::distribution::Distribution;

/// Index of an [`Item`].
pub(super) type ItemId = usize;
/// Index of a [`Group`]; the first one is the whole drawing.
pub(super) type GroupId = usize;
/// Index of a [`WireValue`].
pub(super) type ValueIndex = usize;

/// The whole drawing.
#[derive(Debug, Default)]
pub(super) struct Scene {
    pub(super) title: String,
    pub(super) items: Vec<Item>,
    pub(super) groups: Vec<Group>,
    pub(super) values: Vec<WireValue>,
    pub(super) wires: Vec<Wire>,
    /// Whether it shows the differences between two models.
    pub(super) is_diff: bool,
}

/// Whether something is new, gone or different.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub(super) enum Mark {
    #[default]
    None,
    Added,
    Removed,
    Changed,
}

impl Mark {
    /// Its name as a class of styles.
    pub(super) fn class(self) -> &'static str {
        match self {
            Mark::None => "",
            Mark::Added => "added",
            Mark::Removed => "removed",
            Mark::Changed => "changed",
        }
    }
}

/// The kind of a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Node,
    /// An input of a graph.
    Input,
    /// An output of a graph.
    Output,
    /// A value of which the producer is not drawn.
    Outside,
    /// A box around other boxes.
    Group(GroupId),
}

/// A box.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The group that it is in.
    pub(super) parent: GroupId,
    pub(super) kind: Kind,
    pub(super) title: String,
    /// The name of the node or value.
    pub(super) name: String,
    pub(super) lines: Vec<BoxLine>,
    pub(super) family: Family,
    pub(super) mark: Mark,
    pub(super) detail: Detail,
}

impl Item {
    pub(super) fn new(parent: GroupId, kind: Kind, title: impl Into<String>) -> Item {
        Item {
            parent,
            kind,
            title: title.into(),
            name: String::new(),
            lines: Vec::new(),
            family: Family::Other,
            mark: Mark::None,
            detail: Detail::default(),
        }
    }

    /// The group that the box is around.
    pub(super) fn group(&self) -> Option<GroupId> {
        match self.kind {
            Kind::Group(group) => Some(group),
            Kind::Node | Kind::Input | Kind::Output | Kind::Outside => None,
        }
    }
}

/// A line of a box: an operand that no wire leads to.
#[derive(Clone, Debug)]
pub(super) struct BoxLine {
    /// The parameter, such as `W`.
    pub(super) label: String,
    /// The type, and the elements of a small constant.
    pub(super) text: String,
    /// The box that computes it, if that is far away.
    pub(super) link: Option<ItemId>,
}

/// The details of a selected box.
#[derive(Clone, Debug, Default)]
pub(super) struct Detail {
    pub(super) attributes: Vec<(String, String)>,
    pub(super) inputs: Vec<Operand>,
    pub(super) outputs: Vec<Operand>,
    /// How the numbers of weights are distributed.
    pub(super) weights: Vec<(String, Distribution)>,
    /// The line of the text, or its lines.
    pub(super) text: String,
    /// Names that a search finds as well: those of constants in the box.
    pub(super) also: Vec<String>,
    /// The differences, line by line.
    pub(super) changes: Vec<String>,
}

/// An operand or result.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) parameter: String,
    pub(super) name: String,
    pub(super) ty: String,
}

/// Why boxes are together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// The whole drawing.
    Root,
    /// The boxes are the body of a function.
    Function,
    /// The boxes are a graph in an attribute of a node.
    Subgraph,
    /// Their names begin alike.
    Names,
    /// The boxes are one of several similar blocks.
    Repeat,
    /// The boxes are a part of a group that would be too long.
    Section,
}

/// Boxes that are together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) reason: Reason,
    /// The box around them; `None` for the whole drawing.
    pub(super) item: Option<ItemId>,
    /// In the order of the text.
    pub(super) members: Vec<ItemId>,
    pub(super) is_open: bool,
}

/// A value that wires carry.
#[derive(Clone, Debug)]
pub(super) struct WireValue {
    pub(super) name: String,
    pub(super) ty: String,
}

/// A value on its way from a box to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(super) struct Wire {
    pub(super) from: ItemId,
    pub(super) to: ItemId,
    pub(super) value: ValueIndex,
    pub(super) mark: Mark,
}

impl Scene {
    /// An empty drawing.
    pub(super) fn new(title: &str) -> Scene {
        let root = Group { reason: Reason::Root, item: None, members: Vec::new(), is_open: true };
        Scene { title: title.to_owned(), groups: vec![root], ..Scene::default() }
    }

    /// Adds a box to its group.
    pub(super) fn add(&mut self, item: Item) -> ItemId {
        let id = self.items.len();
        self.groups[item.parent].members.push(id);
        self.items.push(item);
        id
    }

    /// Adds a box with a group in it. It has to be made a member of its parent by the caller if `is_member` is false.
    pub(super) fn add_group(&mut self, parent: GroupId, title: impl Into<String>, reason: Reason) -> ItemId {
        let group = self.groups.len();
        let item = self.add(Item::new(parent, Kind::Group(group), title));
        self.groups.push(Group { reason, item: Some(item), members: Vec::new(), is_open: true });
        item
    }

    /// The groups that a box is in, from the innermost to the whole drawing.
    pub(super) fn ancestors(&self, item: ItemId) -> impl Iterator<Item = GroupId> + '_ {
        let mut next = Some(self.items[item].parent);
        std::iter::from_fn(move || {
            let group = next?;
            next = self.groups[group].item.map(|item| self.items[item].parent);
            Some(group)
        })
    }

    /// The groups, each after those that are in it.
    pub(super) fn groups_inside_out(&self) -> Vec<GroupId> {
        let mut order = Vec::with_capacity(self.groups.len());
        let mut stack = vec![0];
        while let Some(group) = stack.pop() {
            order.push(group);
            stack.extend(self.groups[group].members.iter().filter_map(|&item| self.items[item].group()));
        }
        order.reverse();
        order
    }

    /// The box that is seen of a box: itself, or the outermost closed group around it.
    pub(super) fn seen(&self, item: ItemId) -> ItemId {
        let mut seen = item;
        for group in self.ancestors(item) {
            if let (false, Some(around)) = (self.groups[group].is_open, self.groups[group].item) {
                seen = around;
            }
        }
        seen
    }

    /// How many nodes are in a group, at any depth.
    pub(super) fn node_count(&self, group: GroupId) -> usize {
        let (mut count, mut stack) = (0, vec![group]);
        while let Some(group) = stack.pop() {
            for &member in &self.groups[group].members {
                match self.items[member].kind {
                    Kind::Node => count += 1,
                    Kind::Group(inner) => {
                        let reason = self.groups[inner].reason;
                        // A node that runs a graph is the box around the graph.
                        count += usize::from(
                            !self.items[member].detail.text.is_empty() && reason != Reason::Names,
                        );
                        stack.push(inner);
                    }
                    Kind::Input | Kind::Output | Kind::Outside => {}
                }
            }
        }
        count
    }
}
