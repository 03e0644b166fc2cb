//! Drawings of models: a graph laid out in layers, as SVG, as one HTML page, as DOT and as Mermaid.
//!
//! ```
//! use onnxtxt::draw::{Options, draw};
//!
//! let model = onnxtxt::parse(
//!     r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { t = Abs(x) y = Sqrt(t) }"#,
//! ).model;
//! let drawing = draw(&model, onnxtxt::ops::opset::registry_of(&model), &Options::default());
//! assert!(drawing.svg().starts_with("<svg"));
//! assert!(drawing.mermaid().starts_with("flowchart TB"));
//! ```
//!
//! A model becomes a scene: boxes, wires between them, and groups of boxes for functions, nested graphs, common
//! prefixes of names, repeated blocks, and sections of what is too long for one picture. Initializers and constants are lines in the
//! boxes that read them. Each group is laid out by itself: the library dagre ranks and orders what is in it, and `stack` places
//! the ranks below each other for the groups that are open. The HTML page does the latter again whenever a group is opened or closed.
//!
//! Everything that a model says is escaped for the format that it is written to: names are hostile.

mod boxes;
mod build;
mod changes;
mod cycles;
mod details;
mod dot;
mod family;
mod groups;
mod layers;
mod links;
mod mermaid;
mod page;
mod part;
mod repeats;
mod resolve;
mod route;
mod scene;
mod stack;
mod svg;
mod text;
mod theme;

pub use changes::draw_diff;
pub use part::{around, between};

use layers::Layers;
use onnx_ir::{Model, NodeId};
use onnx_ops::schema::Registry;
use scene::Scene;

/// Which groups are closed at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Collapse {
    /// All of a model that is too large to be read at once; none of a smaller one
    #[default]
    Auto,
    /// All
    All,
    /// None
    None,
}

/// The content and the style of a drawing.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The title of the drawing.
    pub title: String,
    /// The nodes of the main graph that are drawn, nested ones with the node around them; `None` for all of them.
    pub nodes: Option<Vec<NodeId>>,
    /// Which groups are closed at first.
    pub collapse: Collapse,
    /// Whether the numbers of weights are counted, for the panel of a page.
    pub statistics: bool,
}

/// A drawing that can be written in several formats.
#[derive(Debug)]
pub struct Drawing {
    scene: Scene,
    layers: Vec<Layers>,
}

/// Draws the main graph of a model. A model without a graph is an empty drawing.
pub fn draw(model: &Model, registry: &Registry, options: &Options) -> Drawing {
    let scene = build::Builder::new(model, registry).scene(options);
    Drawing::of(scene, options.collapse)
}

/// More boxes than this are not read at once: a drawing of them begins with its groups closed.
const READABLE: usize = 150;

impl Drawing {
    fn of(mut scene: Scene, collapse: Collapse) -> Drawing {
        groups::arrange(&mut scene);
        let is_closed = match collapse {
            Collapse::All => true,
            Collapse::None => false,
            Collapse::Auto => scene.items.len() > READABLE,
        };
        for group in scene.groups.iter_mut().skip(1) {
            group.is_open = !is_closed;
        }
        let layers = layers::of_all(&scene);
        Drawing { scene, layers }
    }

    /// How many nodes and other boxes there are, without groups.
    pub fn len(&self) -> usize {
        self.scene.items.iter().filter(|item| item.group().is_none()).count()
    }

    /// Whether there is nothing to be seen.
    pub fn is_empty(&self) -> bool {
        self.scene.items.is_empty()
    }

    /// A picture, readable on light and dark backgrounds.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::svg(&self.scene, &self.layers)
    }

    /// A page of its own, which needs no network.
    #[must_use]
    pub fn html(&self) -> String {
        page::html(&self.scene, &self.layers)
    }

    /// A graph for the programs of Graphviz.
    #[must_use]
    pub fn dot(&self) -> String {
        dot::dot(&self.scene)
    }

    /// A flowchart for Markdown.
    #[must_use]
    pub fn mermaid(&self) -> String {
        mermaid::mermaid(&self.scene)
    }
}

#[cfg(test)]
mod tests;
