//! Values of single fields: mostly plain, some of them odd.

use super::{Choices, Wildness};

/// Names that models use again and again, so that some uses meet definitions.
const NAMES: &[&str] = &["x", "y", "z", "", "w", "t1", "f"];

/// Strings that something might stumble over.
const ODD: &[&str] = &[
    "",
    "_",
    "a b",
    "1x",
    "aten::add",
    "a.b.c",
    "a..b",
    ".a",
    "ai.onnx",
    "pkg.torch.2.6",
    "/l/T",
    "say \"so\"",
    "\"",
    "back\\slash",
    "\\",
    "\\n",
    "two\nlines",
    "\n",
    "\r\n",
    "tab\tand\x0bvt",
    "\u{1}\u{7f}",
    "nul\0inside",
    "# hash",
    "#@ onnxtxt 1",
    "#@ doc_string: \"x\"",
    "## doc",
    "// slashes",
    "déjà vu 𝄞",
    "\u{feff}bom",
    "\u{2028}",
    " leading and trailing ",
    "nan",
    "-inf",
    "inf",
    "float",
    "tensor",
    "sparse",
    "attribute",
    "elem_type",
    "seq",
    "graph",
    "none",
    "true",
    "b",
    "r",
    "=>",
    "{}",
    "[",
    "@x",
    "$0",
    "%",
    "0",
    "-1",
    "1e5",
    "location",
    "a text that is long enough to be shared between annotations",
];

const BYTES: &[&[u8]] =
    &[b"\xff", b"\xc3\x28", b"x\xffy", b"\xed\xa0\x80", b"\xff\xfe\0\"\\\n", b"\xf0\x9f\x98"];

const INTS: &[i64] = &[
    0,
    1,
    2,
    -1,
    3,
    4,
    127,
    128,
    -128,
    255,
    256,
    65535,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 32,
    i64::MAX,
    i64::MIN,
];

const FLOATS: &[u32] = &[
    0,           // 0.0
    0x3f80_0000, // 1.0
    0x8000_0000, // -0.0
    0x3dcc_cccd, // 0.1
    0x4b80_0000, // 2^24
    0x7f7f_ffff, // the largest
    1,           // the smallest
    0x7f80_0000, // inf
    0xff80_0000, // -inf
    0x7fc0_0000, // nan
];
const NANS: &[u32] = &[0xffc0_0000, 0x7fc0_0001, 0x7f80_0001, 0xff80_0001, 0x7fff_ffff];

const DOUBLES: &[u64] = &[
    0,
    0x3ff0 << 48,
    1 << 63,
    0x3fb9_9999_9999_999a, // 0.1
    0x7fef_ffff_ffff_ffff,
    1,
    0x7ff0 << 48,
    0xfff0 << 48,
    0x7ff8 << 48,
];
const DOUBLE_NANS: &[u64] = &[0xfff8 << 48, (0x7ff8 << 48) + 1, (0x7ff0 << 48) + 1, u64::MAX];

/// Names that the reference accepts only without quotes.
pub(super) fn identifier(c: &mut Choices<'_>) -> Vec<u8> {
    c.pick(&["x", "Abs", "_", "inf", "float", "a1", "seq", "b", "sparse"]).as_bytes().to_vec()
}

pub(super) fn name(c: &mut Choices<'_>, wildness: Wildness) -> Vec<u8> {
    if c.chance(200) { c.pick(NAMES).as_bytes().to_vec() } else { string(c, wildness) }
}

pub(super) fn string(c: &mut Choices<'_>, wildness: Wildness) -> Vec<u8> {
    let text = match c.below(16) {
        0..4 => c.pick(NAMES).as_bytes().to_vec(),
        4..13 => c.pick(ODD).as_bytes().to_vec(),
        13 => (0..c.below(8)).map(|_| c.byte() & 0x7f).collect(),
        _ if wildness != Wildness::Wild => c.pick(ODD).as_bytes().to_vec(),
        14 => c.pick(BYTES).to_vec(),
        _ => (0..c.below(8)).map(|_| c.byte()).collect(),
    };
    if wildness == Wildness::Plain && text.contains(&0) { b"no nul".to_vec() } else { text }
}

/// The contents of a field of type `bytes`; any bytes are allowed.
pub(super) fn bytes(c: &mut Choices<'_>, wildness: Wildness) -> Vec<u8> {
    string(c, if wildness == Wildness::Tame { Wildness::Wild } else { wildness })
}

pub(super) fn int(c: &mut Choices<'_>) -> i64 {
    if c.chance(40) { c.bits().cast_signed() } else { *c.pick(INTS) }
}

pub(super) fn int32(c: &mut Choices<'_>) -> i32 {
    let wide = int(c);
    i32::try_from(wide).unwrap_or(if wide < 0 { i32::MIN } else { i32::MAX })
}

pub(super) fn float(c: &mut Choices<'_>, wildness: Wildness) -> u32 {
    let bits = match c.below(8) {
        7 if wildness == Wildness::Wild => return *c.pick(NANS),
        6 => (c.bits() & 0xffff_ffff) as u32,
        _ => *c.pick(FLOATS),
    };
    let is_nan = bits & 0x7fff_ffff > 0x7f80_0000;
    if is_nan && wildness != Wildness::Wild { 0x7fc0_0000 } else { bits }
}

pub(super) fn double(c: &mut Choices<'_>, wildness: Wildness) -> u64 {
    let bits = match c.below(8) {
        7 if wildness == Wildness::Wild => return *c.pick(DOUBLE_NANS),
        6 => c.bits(),
        _ => *c.pick(DOUBLES),
    };
    let is_nan = bits & (u64::MAX >> 1) > 0x7ff0 << 48;
    if is_nan && wildness != Wildness::Wild { 0x7ff8 << 48 } else { bits }
}

/// A number of an enum, or one that it has no name for.
pub(super) fn enum_number(c: &mut Choices<'_>, known: &[i32], wildness: Wildness) -> i32 {
    if c.chance(20) && wildness != Wildness::Plain {
        *c.pick(&[99, -1, 17, i32::MAX, i32::MIN])
    } else {
        *c.pick(known)
    }
}
