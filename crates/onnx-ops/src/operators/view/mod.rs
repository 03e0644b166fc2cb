//! Operators that rearrange and repeat elements.

mod bodies;
mod gradient;
mod infer;
pub(super) mod meaning;
mod versions;

use super::{Operator, gather, op, shape};
use crate::change::{Conversion::By, step};
use crate::derivative::Derivative::Build;
use crate::lint::idle;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("DepthToSpace")
        .infer(infer::depth_to_space)
        .define(meaning::depth_to_space)
        .body(28, bodies::depth_to_space)
        .unchanged(&[11, 13, 28])
        .work(Work::Moves)
        .derivative(Build(gradient::depth_to_space)),
    op("Expand")
        .infer(infer::expand)
        .define(meaning::expand)
        .reads(&[1])
        .unchanged(&[13])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::expand)),
    op("ReverseSequence")
        .infer(infer::reverse_sequence)
        .define(gather::meaning::reverse_sequence)
        .unchanged(&[28])
        .work(Work::Moves)
        .derivative(Build(gradient::reverse_sequence)),
    op("SpaceToDepth")
        .infer(infer::space_to_depth)
        .define(meaning::space_to_depth)
        .body(28, bodies::space_to_depth)
        .unchanged(&[13, 28])
        .work(Work::Moves)
        .derivative(Build(gradient::space_to_depth)),
    op("Tile")
        .infer(infer::tile_along_axis)
        .infer_from(6, infer::tile)
        .define(meaning::tile)
        .reads(&[1, 2])
        .converted(&[step(6, By(versions::tile_up), By(versions::tile_down))])
        .unchanged(&[13])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::tile)),
    op("Transpose")
        .infer(infer::transpose)
        .define(meaning::transpose)
        .unchanged(&[13, 21, 23, 24, 25])
        .work(Work::Moves)
        .lints(&[idle])
        .derivative(Build(gradient::transpose)),
    op("Trilu")
        .infer(infer::trilu)
        .define(shape::meaning::triangle)
        .reads(&[1])
        .work(Work::Moves)
        .derivative(Build(gradient::triangle)),
];
