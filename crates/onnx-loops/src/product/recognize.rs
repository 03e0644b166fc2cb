//! Recognizes sums of products that are matrix products, and their factors.
//!
//! An integer factor is a byte minus a zero point, or 0 out of bounds, which is the same as padding the byte with the zero point:
//!
//! ```text
//! (int32(x[…, i2 - 1]) - int32(zero)) if 0 < i2 else 0        =        int32(x[…, i2 - 1] if 0 < i2 else zero) - int32(zero)
//! ```

use super::micro::Factor as _;
use super::{Bytes, Contraction, Flip, Side, depends};
use crate::lanes::Linear;
use crate::program::axes::Axes;
use crate::program::{Bound, Instr, Program, Types};
use onnx_formula::{Binary, Combine, Expr, Formula, Number};
use onnx_ir::ElemType;
use smallvec::SmallVec;
use std::sync::Arc;

/// Fewer rows, columns or steps are not worth a matrix product, except fewer rows with prepacked columns.
const MIN_ROWS: usize = 4;
const MIN_COLUMNS: usize = 8;
/// Fewer columns are worth it with prepacked rows, as in convolutions of short signals, or with prepacked columns and many rows.
const FEW_COLUMNS: usize = 2;
const MANY_ROWS: usize = 64;
const MIN_STEPS: usize = 4;
/// One, two and three prepacked rows are worth it from so many steps on, along several axes and with adjacent columns. Measured on AVX2,
/// the time of the loop for each unit of time of the product: 3x3 taps of 3 channels, one row 0.85, two 1.25, three 2.0; of 16 channels
/// 0.95, 1.1, 3.2; of 64 channels 1.7, 2.4, 2.4; 9x9 taps of 32 channels 3.6, 4, 4. One tap of 64 channels 0.65, 0.9, 0.9, of 512 channels
/// 0.5, 0.8, 0.9; every second pixel of 16 channels, two rows 0.4.
const MIN_STEPS_OF_FEW_ROWS: [usize; MIN_ROWS - 1] = [256, 24, 24];
/// The most products of two 9-bit numbers whose sum cannot overflow 32 bits.
pub const MAX_EXACT_PRODUCTS: usize = 1 << 15;

/// A factor that is a byte minus a zero point.
pub(crate) struct Codes {
    is_signed: bool,
    /// The byte, in bounds.
    byte: Expr,
    /// The byte padded with the zero point: as a bounded load, or as two expressions.
    padded: Option<[Expr; 2]>,
    zero: Option<Expr>,
}

impl Codes {
    /// The factors of a sum of products of bytes; `None` for other formulas.
    pub(crate) fn of(formula: &Formula, operands: &Types<'_>) -> Option<[Codes; 2]> {
        let over = formula.over.as_ref()?;
        let count = over.dims.iter().fold(1, |n: usize, d| n.saturating_mul(*d));
        let is_sum = over.combine == Combine::Sum
            && match over.elem {
                ElemType::INT32 => true,
                ElemType::INT64 => count <= MAX_EXACT_PRODUCTS,
                _ => false,
            };
        let Expr::Binary(Binary::Mul, a, b) = &formula.expr else { return None };
        if !is_sum {
            return None;
        }
        Some([Self::factor(a, operands)?, Self::factor(b, operands)?])
    }

    fn factor(expr: &Expr, operands: &Types<'_>) -> Option<Codes> {
        let (condition, expr) = match expr {
            Expr::Select(parts) if parts[2] == Expr::Number(Number::Int(0)) => (Some(&parts[0]), &parts[1]),
            _ => (None, expr),
        };
        let (byte, zero) = match expr {
            Expr::Binary(Binary::Sub, byte, zero) => (bare(byte), Some(bare(zero))),
            _ => (bare(expr), None),
        };
        let is_signed = has_sign(byte, operands)?;
        if zero.is_some_and(|zero| has_sign(zero, operands) != Some(is_signed)) {
            return None;
        }
        let padded = condition.map(|condition| {
            let select = |no: &Expr| byte.clone().if_else(condition.clone(), no.clone());
            let nothing = Expr::int(0);
            [select(&nothing), select(zero.unwrap_or(&nothing))]
        });
        Some(Codes { is_signed, byte: byte.clone(), padded, zero: zero.cloned() })
    }
}

/// Removes casts to wider integers.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(cast, x) if matches!(cast.to, ElemType::INT16 | ElemType::INT32 | ElemType::INT64) => {
            bare(x)
        }
        _ => expr,
    }
}

/// Whether an expression of an 8-bit type is signed; `None` for other types.
fn has_sign(expr: &Expr, operands: &Types<'_>) -> Option<bool> {
    use ElemType as E;
    let elem = match expr {
        Expr::Load(operand, _) => operands(*operand)?.elem,
        Expr::Cast(cast, _) => cast.to,
        // Padding with a number of the type.
        Expr::Select(parts) => match (&parts[1], &parts[2]) {
            (load @ Expr::Load(..), Expr::Number(Number::Int(n))) => {
                let is_signed = has_sign(load, operands)?;
                let is_in = if is_signed { (-128..128).contains(n) } else { (0..256).contains(n) };
                return is_in.then_some(is_signed);
            }
            _ => return None,
        },
        _ => return None,
    };
    match elem {
        E::INT8 | E::INT4 | E::INT2 => Some(true),
        E::UINT8 | E::UINT4 | E::UINT2 => Some(false),
        _ => None,
    }
}

/// A lowered factor.
pub(crate) struct Factor {
    program: Program,
    bytes: Option<Lowered>,
}

/// The properties of a byte factor besides its program.
struct Lowered {
    is_signed: bool,
    zero: Option<Program>,
    is_padded: bool,
}

impl Factor {
    pub(crate) fn float(program: Program) -> Factor {
        Factor { program, bytes: None }
    }

    /// Lowers a byte factor; `lower` lowers expressions.
    pub(crate) fn bytes<'e>(codes: &'e Codes, lower: impl Fn(&'e Expr) -> Option<Program>) -> Option<Factor> {
        let zero = match &codes.zero {
            Some(zero) => Some(lower(zero)?),
            None => None,
        };
        let is_one = |zero: &Program| {
            zero.instrs.iter().all(|instr| match instr {
                Instr::Load { place, .. } => place.by.iter().all(|by| *by == 0),
                _ => false,
            })
        };
        let (program, is_padded) = match &codes.padded {
            None => (lower(&codes.byte)?, false),
            Some([nothing, padding]) => {
                let load = lower(nothing).filter(|it| matches!(it.instrs[..], [Instr::LoadWhere { .. }]));
                match (load, &zero) {
                    (Some(load), None) => (load, false),
                    (Some(load), Some(zero)) if is_one(zero) => (load, true),
                    (Some(_) | None, _) => (lower(padding)?, false),
                }
            }
        };
        Some(Factor { program, bytes: Some(Lowered { is_signed: codes.is_signed, zero, is_padded }) })
    }

    /// The programs of the byte and of its zero point, if its only bounds are those of a single load.
    pub(crate) fn byte(&self) -> Option<(&Program, Option<&Program>)> {
        let bytes = self.bytes.as_ref()?;
        Some((&self.program, bytes.zero.as_ref()))
    }

    /// The axes that it depends on.
    fn depends(&self, axes: usize) -> Vec<bool> {
        let mut all = depends(&self.program, axes);
        if let Some(zero) = self.bytes.as_ref().and_then(|bytes| bytes.zero.as_ref()) {
            all.iter_mut().zip(depends(zero, axes)).for_each(|(all, zero)| *all |= zero);
        }
        all
    }

    /// Whether it is constant.
    fn is_constant(&self, operands: &Types<'_>) -> bool {
        let is_known = |operand: usize| operands(operand).is_some_and(|operand| operand.is_constant);
        self.program.operands().all(is_known)
    }

    /// Whether its zero point varies along the reduction.
    fn is_uneven(&self, split: usize, axes: usize) -> bool {
        let zero = self.bytes.as_ref().and_then(|bytes| bytes.zero.as_ref());
        zero.is_some_and(|zero| depends(zero, axes)[split..].contains(&true))
    }

    /// The factor as a side of a product; one of the sides must be signed.
    fn side(self, own: Vec<usize>, extents: &[usize], has_sign: bool) -> Side {
        let inner = extents.len() - 1;
        let along = |axis: usize| Program { along: axis, ..self.program.clone() };
        let (steps, across) = (along(inner), own.last().map(|last| along(*last)));
        let is_cheap = |across: &Program| across.cost(extents[across.along]) <= steps.cost(extents[inner]);
        let (program, is_along_steps) = match across.filter(is_cheap) {
            Some(across) => (across, false),
            None => (steps, true),
        };
        let bytes = self.bytes.map(|Lowered { is_signed, zero, is_padded }| {
            let flip = match (is_signed, has_sign) {
                (true, false) => Flip::Up,
                (false, true) => Flip::Down,
                (true, true) | (false, false) => Flip::None,
            };
            let zero = zero.map(|zero| Program { along: own.last().copied().unwrap_or(inner), ..zero });
            Bytes { flip, zero, is_padded }
        });
        Side { program, axes: own, is_along_steps, bytes, known: None, step_blocks: Arc::default() }
    }
}

/// The matrix product of two factors, if it has enough rows, columns and steps.
pub(crate) fn contraction(
    elem: ElemType,
    axes: &Axes,
    a: Factor,
    b: Factor,
    operands: &Types<'_>,
) -> Option<Contraction> {
    let extents = axes.extents();
    let split = axes.dims.len();
    if a.is_uneven(split, extents.len()) || b.is_uneven(split, extents.len()) {
        return None;
    }
    let (of_a, of_b) = (a.depends(extents.len()), b.depends(extents.len()));
    // The columns are contiguous in the result.
    let ((a, of_a), (b, of_b)) =
        if of_b[split - 1] { ((a, of_a), (b, of_b)) } else { ((b, of_b), (a, of_a)) };
    if of_a[split - 1] || !of_b[split - 1] {
        return None;
    }
    let own = |mine: &[bool], other: &[bool]| -> Vec<usize> {
        (0..split).filter(|&axis| mine[axis] && !other[axis]).collect()
    };
    let (own_a, own_b) = (own(&of_a, &of_b), own(&of_b, &of_a));
    let both: Vec<usize> = (0..split).filter(|axis| of_a[*axis] == of_b[*axis]).collect();
    let count = |axes: &[usize]| axes.iter().map(|&axis| extents[axis]).product::<usize>();
    let steps: usize = axes.over.iter().product();
    let long = |dims: &[usize]| dims.iter().filter(|extent| **extent > 1).count();
    let least = count(&own_a).checked_sub(1).and_then(|index| MIN_STEPS_OF_FEW_ROWS.get(index));
    let is_long = least.is_some_and(|least| steps >= *least && long(&axes.over) > 1);
    let is_adjacent = || {
        b.program.instrs.iter().all(|instr| match instr {
            Instr::Load { place, .. } | Instr::LoadWhere { place, .. } => place.by[split - 1] == 1,
            _ => true,
        })
    };
    // For bytes, even a single row or column gains, because four steps are multiplied at a time.
    let (least_rows, least_columns) = match a.bytes {
        Some(_) => (1, 1),
        None if both.is_empty() && b.is_constant(operands) && count(&own_a) >= MANY_ROWS => (1, FEW_COLUMNS),
        None if both.is_empty() && b.is_constant(operands) => (1, MIN_COLUMNS),
        None if both.is_empty() && a.is_constant(operands) && is_long && is_adjacent() => (1, FEW_COLUMNS),
        None if both.is_empty() && a.is_constant(operands) => (MIN_ROWS, FEW_COLUMNS),
        None => (MIN_ROWS, MIN_COLUMNS),
    };
    let is_one = count(&own_a) >= least_rows && count(&own_b) >= least_columns && steps >= MIN_STEPS;
    is_one.then(|| {
        let is_known = b.is_constant(operands);
        let (mut a, mut b) = (a.side(own_a, &extents, false), b.side(own_b, &extents, true));
        let mut over = axes.over.clone();
        if is_known {
            in_groups(&mut a, &mut b, &mut over, split);
        }
        Contraction::new(elem, (axes.dims.clone(), over), (a, b), both)
    })
}

/// Channels are padded only if they have at most this many steps.
const MAX_PADDED_CHANNELS: usize = 16;

/// Pads the channels of a byte image to whole groups, with zero factors, so that the image is read from a padded copy instead of
/// being packed for each step.
fn in_groups(a: &mut Side, b: &mut Side, over: &mut [usize], split: usize) {
    let last = split + over.len() - 1;
    let [.., _, channels] = over else { return };
    let is_even = b.bytes.as_ref().is_some_and(|bytes| bytes.flip == Flip::None && bytes.zero.is_none());
    if !is_even || *channels > MAX_PADDED_CHANNELS || channels.is_multiple_of(u8::GROUP) {
        return;
    }
    let (Some(image), Some(weights)) =
        (padded(&a.program, last, *channels), padded(&b.program, last, *channels))
    else {
        return;
    };
    if let [Instr::LoadWhere { bounds, .. }] = &image.instrs[..]
        && bounds.len() > 1
    {
        (a.program, b.program) = (image, weights);
        *channels = channels.next_multiple_of(u8::GROUP);
    }
}

/// The load with its padding value, or 0, beyond `count` positions of an axis.
fn padded(program: &Program, axis: usize, count: usize) -> Option<Program> {
    let (instr, mut bounds) = match &program.instrs[..] {
        [instr @ Instr::Load { .. }] => (instr, Vec::new()),
        [instr @ Instr::LoadWhere { bounds, .. }] => (instr, bounds.clone()),
        _ => return None,
    };
    let (to, operand, elem, place, otherwise) = match instr {
        Instr::Load { to, operand, elem, place } => (*to, *operand, *elem, place.clone(), (0.0, 0)),
        Instr::LoadWhere { to, operand, elem, place, otherwise, .. } => {
            (*to, *operand, *elem, place.clone(), *otherwise)
        }
        _ => return None,
    };
    let mut function = Linear { base: 0, by: SmallVec::from_elem(0, place.by.len()) };
    function.by[axis] = 1;
    bounds.push(Bound { function, from: 0, to: i64::try_from(count).ok()? });
    let instrs = vec![Instr::LoadWhere { to, operand, elem, place, bounds, otherwise }];
    Some(Program { instrs, ..program.clone() })
}
