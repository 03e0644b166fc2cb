//! Elementwise arithmetic, logic and comparisons.

mod bodies;
mod gradient;
pub(super) mod infer;
mod lints;
pub(super) mod meaning;
pub(super) mod versions;

use super::{Operator, norm, op};
use crate::change::{Conversion::By, consumed, down, step, up};
use crate::definition::{Binary, Unary};
use crate::derivative::{
    Derivative::{Build, Zero},
    INTEGERS, NOT_NUMBERS, STEPS,
};
use crate::engine::rule::broadcast::broadcast;
use crate::lint::idle;
use crate::work::Work;

pub(super) const ROWS: &[Operator] = &[
    op("Abs")
        .infer(infer::abs)
        .define(|cx| meaning::unary(cx, Unary::Abs))
        .converted(&[up(6, consumed)])
        .unchanged(&[13])
        .derivative(gradient::ABS),
    op("Acos")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Acos))
        .unchanged(&[22])
        .derivative(gradient::ACOS),
    op("Acosh")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Acosh))
        .unchanged(&[22])
        .derivative(gradient::ACOSH),
    op("Add")
        .infer(infer::add)
        .define(|cx| meaning::binary(cx, Binary::Add))
        .converted(&[up(6, consumed), step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .unchanged(&[13, 14])
        .lints(&[idle])
        .derivative(Build(gradient::sum)),
    op("And")
        .infer(infer::and)
        .define(|cx| meaning::binary(cx, Binary::And))
        .converted(&[step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .derivative(Zero(NOT_NUMBERS)),
    op("Asin")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Asin))
        .unchanged(&[22])
        .derivative(gradient::ASIN),
    op("Asinh")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Asinh))
        .unchanged(&[22])
        .derivative(gradient::ASINH),
    op("Atan")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Atan))
        .unchanged(&[22])
        .derivative(gradient::ATAN),
    op("Atanh")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Atanh))
        .unchanged(&[22])
        .derivative(gradient::ATANH),
    op("BitShift").infer(infer::bit_shift).define(meaning::shift).unchanged(&[28]).derivative(Zero(INTEGERS)),
    op("BitwiseAnd")
        .infer(broadcast)
        .define(|cx| meaning::binary(cx, Binary::BitwiseAnd))
        .derivative(Zero(INTEGERS)),
    op("BitwiseNot")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::BitwiseNot))
        .derivative(Zero(INTEGERS)),
    op("BitwiseOr")
        .infer(broadcast)
        .define(|cx| meaning::binary(cx, Binary::BitwiseOr))
        .derivative(Zero(INTEGERS)),
    op("BitwiseXor")
        .infer(broadcast)
        .define(|cx| meaning::binary(cx, Binary::BitwiseXor))
        .derivative(Zero(INTEGERS)),
    op("Ceil")
        .infer(infer::ceil)
        .define(|cx| meaning::unary(cx, Unary::Ceil))
        .converted(&[up(6, consumed)])
        .unchanged(&[13])
        .derivative(Zero(STEPS)),
    op("Clip")
        .infer(infer::clip)
        .define(meaning::clip)
        .body(13, bodies::clip)
        .converted(&[up(6, consumed), step(11, By(versions::clip_up), By(versions::clip_down))])
        .unchanged(&[12, 13])
        .lints(&[lints::clip])
        .derivative(Build(gradient::clip)),
    op("Cos")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Cos))
        .unchanged(&[22])
        .derivative(gradient::COS),
    op("Cosh")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Cosh))
        .unchanged(&[22])
        .derivative(gradient::COSH),
    op("Div")
        .infer(infer::div)
        .define(|cx| meaning::binary(cx, Binary::Div))
        .converted(&[up(6, consumed), step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .unchanged(&[13, 14])
        .lints(&[idle, lints::division])
        .derivative(gradient::DIV),
    op("Dropout")
        .infer(infer::dropout)
        .define(meaning::dropout)
        .reads(&[1, 2])
        .converted(&[
            up(6, consumed),
            step(7, By(norm::versions::is_test_up), By(norm::versions::is_test_down)),
            step(10, By(versions::mask_up), By(versions::mask_down)),
            step(12, By(versions::dropout_up), By(versions::dropout_down)),
        ])
        .unchanged(&[13, 22])
        .work(Work::Moves)
        .lints(&[idle, lints::dropout])
        .derivative(Build(gradient::dropout)),
    op("Equal")
        .infer(infer::equal)
        .define(|cx| meaning::binary(cx, Binary::Equal))
        .converted(&[step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .unchanged(&[11, 13, 19])
        .derivative(Zero(NOT_NUMBERS)),
    op("Erf")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Erf))
        .unchanged(&[13])
        .derivative(gradient::ERF),
    op("Exp")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Exp))
        .converted(&[up(6, consumed)])
        .unchanged(&[13])
        .derivative(gradient::EXP),
    op("Floor")
        .infer(infer::floor)
        .define(|cx| meaning::unary(cx, Unary::Floor))
        .converted(&[up(6, consumed)])
        .unchanged(&[13])
        .derivative(Zero(STEPS)),
    op("Greater")
        .infer(infer::greater)
        .define(|cx| meaning::binary(cx, Binary::Greater))
        .converted(&[step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .unchanged(&[9, 13])
        .derivative(Zero(NOT_NUMBERS)),
    op("GreaterOrEqual")
        .infer(infer::greater_or_equal)
        .define(|cx| meaning::binary(cx, Binary::GreaterOrEqual))
        .unchanged(&[16])
        .derivative(Zero(NOT_NUMBERS)),
    op("IsInf")
        .infer(infer::same_shape)
        .define(meaning::is_infinite)
        .unchanged(&[20])
        .derivative(Zero(NOT_NUMBERS)),
    op("IsNaN")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::IsNaN))
        .unchanged(&[13, 20])
        .derivative(Zero(NOT_NUMBERS)),
    op("Less")
        .infer(infer::less)
        .define(|cx| meaning::binary(cx, Binary::Less))
        .converted(&[step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .unchanged(&[9, 13])
        .derivative(Zero(NOT_NUMBERS)),
    op("LessOrEqual")
        .infer(infer::less_or_equal)
        .define(|cx| meaning::binary(cx, Binary::LessOrEqual))
        .unchanged(&[16])
        .derivative(Zero(NOT_NUMBERS)),
    op("Log")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Log))
        .converted(&[up(6, consumed)])
        .unchanged(&[13])
        .derivative(gradient::LOG),
    op("Max")
        .infer(infer::max)
        .define(|cx| meaning::several(cx, Binary::Max))
        .converted(&[up(6, consumed), down(8, versions::one_shape_down)])
        .unchanged(&[12, 13])
        .lints(&[idle])
        .derivative(Build(gradient::extreme)),
    op("Mean")
        .infer(broadcast)
        .define(meaning::mean)
        .converted(&[up(6, consumed), down(8, versions::one_shape_down)])
        .unchanged(&[13])
        .lints(&[idle])
        .derivative(Build(gradient::mean)),
    op("Min")
        .infer(infer::min)
        .define(|cx| meaning::several(cx, Binary::Min))
        .converted(&[up(6, consumed), down(8, versions::one_shape_down)])
        .unchanged(&[12, 13])
        .lints(&[idle])
        .derivative(Build(gradient::extreme)),
    op("Mod")
        .infer(infer::modulo)
        .define(meaning::modulo)
        .converted(&[down(28, versions::mod_down)])
        .unchanged(&[13])
        .lints(&[lints::division])
        .derivative(Build(gradient::remainder)),
    op("Mul")
        .infer(infer::mul)
        .define(|cx| meaning::binary(cx, Binary::Mul))
        .converted(&[up(6, consumed), step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .unchanged(&[13, 14])
        .lints(&[idle])
        .derivative(gradient::MUL),
    op("Neg")
        .infer(infer::neg)
        .define(|cx| meaning::unary(cx, Unary::Neg))
        .converted(&[up(6, consumed)])
        .unchanged(&[13])
        .derivative(gradient::NEG),
    op("Not").infer(infer::not).define(|cx| meaning::unary(cx, Unary::Not)).derivative(Zero(NOT_NUMBERS)),
    op("Or")
        .infer(infer::or)
        .define(|cx| meaning::binary(cx, Binary::Or))
        .converted(&[step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .derivative(Zero(NOT_NUMBERS)),
    op("Pow")
        .infer(infer::pow)
        .define(meaning::power)
        .converted(&[step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .unchanged(&[12, 13, 15])
        .derivative(Build(gradient::power)),
    op("Reciprocal")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Reciprocal))
        .converted(&[up(6, consumed)])
        .unchanged(&[13])
        .derivative(gradient::RECIPROCAL),
    op("Round")
        .infer(infer::round)
        .define(|cx| meaning::unary(cx, Unary::Round))
        .unchanged(&[22])
        .derivative(Zero(STEPS)),
    op("Sign")
        .infer(infer::sign)
        .define(|cx| meaning::unary(cx, Unary::Sign))
        .unchanged(&[13])
        .derivative(Zero(STEPS)),
    op("Sin")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Sin))
        .unchanged(&[22])
        .derivative(gradient::SIN),
    op("Sinh")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Sinh))
        .unchanged(&[22])
        .derivative(gradient::SINH),
    op("Sqrt")
        .infer(infer::sqrt)
        .define(|cx| meaning::unary(cx, Unary::Sqrt))
        .converted(&[up(6, consumed)])
        .unchanged(&[13])
        .derivative(gradient::SQRT),
    op("Sub")
        .infer(infer::sub)
        .define(|cx| meaning::binary(cx, Binary::Sub))
        .converted(&[up(6, consumed), step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .unchanged(&[13, 14])
        .lints(&[idle])
        .derivative(gradient::SUB),
    op("Sum")
        .infer(infer::sum)
        .define(|cx| meaning::several(cx, Binary::Add))
        .converted(&[up(6, consumed), down(8, versions::one_shape_down)])
        .unchanged(&[13])
        .lints(&[idle])
        .derivative(Build(gradient::sum)),
    op("Tan")
        .infer(infer::same_shape)
        .define(|cx| meaning::unary(cx, Unary::Tan))
        .unchanged(&[22])
        .derivative(gradient::TAN),
    op("Where")
        .infer(infer::choose)
        .define(meaning::choose)
        .unchanged(&[16])
        .work(Work::Moves)
        .derivative(Build(gradient::choice)),
    op("Xor")
        .infer(infer::xor)
        .define(|cx| meaning::binary(cx, Binary::Xor))
        .converted(&[step(7, By(versions::broadcast_up), By(versions::broadcast_down))])
        .derivative(Zero(NOT_NUMBERS)),
];
