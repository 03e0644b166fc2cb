//! The parts of derivatives, which the rows of operators name: a node with its facts ([`Cell`]), kinds of rules ([`Derivative`]), and
//! parts that the rules of several families share (`positions`, `window`, `sample`, `shapes`, `sequences`).

mod cell;
mod nodes;
mod positions;
mod rule;
pub(crate) mod sample;
pub(crate) mod sequences;
pub(crate) mod shapes;
pub(crate) mod window;

pub(crate) use cell::{Cell, Done, least, number, numbers};
pub(crate) use nodes::{gradients, has_gradient, is_trained};
pub(crate) use positions::{add_at, by_position};
pub(crate) use rule::{Derivative, GENERATED, INTEGERS, MAPS, NOT_NUMBERS, OPTIMIZERS, STEPS, is_float};
