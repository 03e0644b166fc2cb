//! Pipelines yield the same results as separate steps, bit for bit.

use crate::lanes::access::store;
use crate::lanes::strip::Strip;
use crate::lanes::view::View;
use crate::lanes::{Class, LANES, Linear, Reg, Registers};
use crate::pipeline::Out;
use crate::program::interpret::{numbers, run_into};
use crate::program::{Instr, Program};
use onnx_formula::{Binary, Domain, Unary};
use onnx_ir::ElemType;

/// A random number generator.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn float(&mut self) -> f32 {
        match self.below(40) {
            0 => self.of(&[0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, -3e38, 1e30]),
            _ => (self.below(4001) as f32 - 2000.0) / self.of(&[10.0, 100.0, 1000.0]),
        }
    }
}

/// The operands of random programs: elements, per-row and per-lane values, and narrow types.
struct Memory {
    dims: Vec<usize>,
    operands: Vec<(ElemType, Vec<u32>, Vec<i64>)>,
}

impl Memory {
    fn new(draw: &mut Draw, dims: &[usize]) -> Memory {
        let count: usize = dims.iter().product();
        let mut all = vec![1i64; dims.len()];
        (0..dims.len() - 1).rev().for_each(|axis| all[axis] = all[axis + 1] * dims[axis + 1] as i64);
        let last = dims.len() - 1;
        let of_lanes = (0..dims.len()).map(|axis| i64::from(axis == last)).collect();
        let of_rows = (0..dims.len()).map(|axis| if axis == last { 0 } else { all[axis] }).collect();
        let apart: Vec<i64> = all.iter().map(|by| by * 2).collect();
        let layouts: [(ElemType, Vec<i64>); 9] = [
            (ElemType::FLOAT, all.clone()),
            (ElemType::FLOAT, of_lanes),
            (ElemType::FLOAT, of_rows),
            (ElemType::FLOAT, apart),
            (ElemType::FLOAT16, all.clone()),
            (ElemType::UINT8, all.clone()),
            (ElemType::BOOL, all.clone()),
            (ElemType::INT32, all),
            (ElemType::UINT8, vec![0; dims.len()]),
        ];
        let operands = layouts.into_iter().map(|(elem, by)| {
            let words = (0..2 * count).map(|_| match elem {
                ElemType::FLOAT => draw.float().to_bits(),
                ElemType::BOOL => draw.of(&[0, 1, 0x100, 0x0001_0100]),
                // Excludes the NaN of float16.
                ElemType::FLOAT16 => draw.below(1 << 31) as u32 & 0xbbff_bbff,
                _ => draw.below(1 << 31) as u32,
            });
            (elem, words.collect(), by)
        });
        Memory { dims: dims.to_vec(), operands: operands.collect() }
    }
}

/// A random program of `steps` steps with a result type.
fn program(draw: &mut Draw, memory: &Memory, steps: usize) -> (Program, ElemType) {
    let mut program = Program { along: memory.dims.len() - 1, ..Program::default() };
    let (mut singles, mut conditions) = (Vec::new(), Vec::new());
    for number in [1.5, -2.0, f64::from(draw.float())] {
        let to = program.reg(Class::Single);
        program.numbers.push((to, number, 0));
        singles.push(to);
    }
    for (operand, (elem, _, by)) in memory.operands.iter().enumerate() {
        let is_condition = *elem == ElemType::BOOL;
        let to = program.reg(if is_condition { Class::Int } else { Class::Single });
        let place = Linear { base: 0, by: by.iter().copied().collect() };
        program.instrs.push(Instr::Load { to, operand, elem: *elem, place });
        if is_condition { conditions.push(to) } else { singles.push(to) }
    }
    let binary = [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Max, Binary::Min, Binary::Pow];
    let tests = [Binary::Equal, Binary::Less, Binary::LessOrEqual, Binary::Greater, Binary::GreaterOrEqual];
    let is_of_floats = |op: &&Unary| matches!(op.domain(), Domain::Numbers | Domain::Floats);
    let unary: Vec<Unary> = Unary::ALL.iter().filter(is_of_floats).copied().collect();
    for _ in 0..steps {
        // Prefers the latest result.
        let recent = |draw: &mut Draw, all: &[Reg]| match draw.below(2) {
            0 => all[all.len() - 1],
            _ => draw.of(all),
        };
        let (a, b) = (recent(draw, &singles), recent(draw, &singles));
        let (c, d) = (recent(draw, &conditions), recent(draw, &conditions));
        let kind = draw.below(16);
        let to = program.reg(if matches!(kind, 7..=11) { Class::Int } else { Class::Single });
        program.instrs.push(match kind {
            0..=3 => Instr::Binary { to, op: draw.of(&binary), a, b },
            4..=6 => Instr::Unary { to, op: draw.of(&unary), x: a },
            7..=8 => Instr::Binary { to, op: draw.of(&tests), a, b },
            9 => Instr::Binary { to, op: draw.of(&[Binary::And, Binary::Or, Binary::Xor]), a: c, b: d },
            10 => Instr::Unary { to, op: Unary::Not, x: c },
            11 => Instr::Cast { to, cast: ElemType::BOOL.into(), x: a },
            12 => Instr::Cast { to, cast: ElemType::FLOAT.into(), x: c },
            13 => Instr::Cast { to, cast: draw.of(&[ElemType::FLOAT16, ElemType::UINT8]).into(), x: a },
            _ => Instr::Select { to, condition: c, yes: a, no: b },
        });
        if to.class == Class::Int {
            conditions.push(to)
        } else {
            singles.push(to)
        }
        if draw.below(8) == 0 {
            // An integer that is not a condition.
            let [int, single] = [Class::Int, Class::Single].map(|class| program.reg(class));
            program.instrs.push(Instr::Step { to: int, sum: None, index: c, by: 3 });
            program.instrs.push(Instr::Cast { to: single, cast: ElemType::FLOAT.into(), x: int });
            singles.push(single);
        }
    }
    if draw.below(6) == 0 {
        let elem = quantized(draw, &mut program, &singles);
        return (program, elem);
    }
    let elem = draw.of(&[
        ElemType::FLOAT,
        ElemType::FLOAT,
        ElemType::FLOAT16,
        ElemType::UINT8,
        ElemType::INT32,
        ElemType::BOOL,
        ElemType::INT64,
    ]);
    let is_condition = matches!(elem, ElemType::BOOL | ElemType::INT64);
    let result = if is_condition { conditions.last() } else { singles.last() };
    program.result = result.copied();
    (program, elem)
}

/// Ends a program with a quantization of its last result, in the form of the operator.
fn quantized(draw: &mut Draw, program: &mut Program, singles: &[Reg]) -> ElemType {
    let (elem, least, most) = draw.of(&[(ElemType::UINT8, 0.0, 255.0), (ElemType::INT8, -128.0, 127.0)]);
    let number = |program: &mut Program, x: f64| {
        let to = program.reg(Class::Single);
        program.numbers.push((to, x, 0));
        to
    };
    let scale = number(program, draw.of(&[0.02, 0.5, 1e-12, 0.37, 3.0]));
    let zero = number(program, draw.of(&[0.0, 3.0, 0.5]));
    let (least, most) = (number(program, least), number(program, most));
    let mut x = singles[singles.len() - 1];
    let mut step = |make: &dyn Fn(Reg, Reg) -> Instr| {
        let to = program.reg(Class::Single);
        program.instrs.push(make(to, x));
        x = to;
    };
    step(&|to, a| Instr::Binary { to, op: Binary::Div, a, b: scale });
    step(&|to, x| Instr::Unary { to, op: Unary::Round, x });
    step(&|to, a| Instr::Binary { to, op: Binary::Add, a, b: zero });
    step(&|to, a| Instr::Binary { to, op: Binary::Max, a, b: least });
    step(&|to, a| Instr::Binary { to, op: Binary::Min, a, b: most });
    program.result = Some(x);
    elem
}

/// The elements that a program computes for a strip.
fn results(program: &Program, elem: ElemType, memory: &Memory, strip: Strip, at: &[usize]) -> Vec<u32> {
    let views = memory
        .operands
        .iter()
        .map(|(elem, words, _)| Some(View { elem: *elem, bytes: bytemuck::cast_slice(words), first: 0 }));
    let operands: Vec<Option<View<'_>>> = views.collect();
    let mut regs = Registers::new(program.counts, LANES);
    numbers(program, &mut regs);
    let width = crate::tensor::width(elem).expect("it has a width");
    let mut out = vec![0u32; (strip.n() * width).div_ceil(4)];
    let bytes: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut out)[..strip.n() * width];
    let wanted = Out::of(elem, bytes);
    let result = program.result.expect("there is a result");
    if !run_into(program, &mut regs, &operands, strip, at, wanted).expect("it runs") {
        regs.settle(strip.n(), result, &operands);
        store(bytes, elem, &regs, result);
    }
    // All NaN are equal.
    for word in &mut out {
        let halves = [*word & 0xffff, *word >> 16]
            .map(|half| if elem == ElemType::FLOAT16 && half & 0x7fff > 0x7c00 { 0x7e00 } else { half });
        *word = halves[0] | halves[1] << 16;
        if elem == ElemType::FLOAT && f32::from_bits(*word).is_nan() {
            *word = f32::NAN.to_bits();
        }
    }
    out
}

#[test]
fn pipelines_give_what_steps_give() {
    let mut draw = Draw(1);
    let mut count = 0;
    let shapes: [&[usize]; 10] =
        [&[1], &[5], &[127], &[128], &[129], &[1000], &[7, 128], &[4, 200], &[20, 50], &[2, 3, 150]];
    for round in 0..1500 {
        let dims = shapes[round % shapes.len()];
        let memory = Memory::new(&mut draw, dims);
        let steps = draw.below(24);
        let (program, elem) = program(&mut draw, &memory, steps);
        let Some(piped) = program.in_pipelines(elem) else { continue };
        count += 1;
        let at = vec![0; dims.len()];
        let strip = Strip::at(&at, dims, dims.iter().product());
        let expected = results(&program, elem, &memory, strip, &at);
        let found = results(&piped, elem, &memory, strip, &at);
        assert_eq!(found, expected, "{round}: {dims:?} {elem:?}\n{program:?}\n{piped:?}");
    }
    assert!(count > 1000, "{count} programs have pipelines");
}

#[test]
fn a_chain_is_one_pipeline() {
    let mut program = Program::default();
    let load = program.reg(Class::Single);
    let place = Linear { base: 0, by: [1].into_iter().collect() };
    program.instrs.push(Instr::Load { to: load, operand: 0, elem: ElemType::FLOAT, place });
    let mut x = load;
    for op in [Binary::Add, Binary::Mul, Binary::Sub] {
        let [number, to] = [(); 2].map(|()| program.reg(Class::Single));
        program.numbers.push((number, 2.0, 0));
        program.instrs.push(Instr::Binary { to, op, a: x, b: number });
        x = to;
    }
    program.result = Some(x);
    let piped = program.in_pipelines(ElemType::FLOAT).expect("it has pipelines");
    let [Instr::Load { .. }, Instr::Pipeline(pipeline)] = &piped.instrs[..] else { panic!("{piped:?}") };
    // It starts with the load and saves nothing.
    assert_eq!((pipeline.stages.len(), pipeline.kept), (5, 0), "{pipeline:?}");
}
