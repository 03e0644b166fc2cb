//! NumPy arrays: `.npy`, and `.npz`, a zip file of arrays.
//!
//! NumPy has no bfloat16, no 8-bit floats and no 4-bit types: their bytes are stored as `V1`, `V2` or integers, and the type that
//! the model declares determines the element type. The package ml_dtypes stores 4-bit and 2-bit types as `V1`, an element a byte.
//! Format: numpy.org/doc/stable/reference/generated/numpy.lib.format.html

// By its path, because the fuzz target includes this file from another folder.
#[path = "npy/header.rs"]
mod header;

use anyhow::{Context as _, bail, ensure};
use onnx_exec::Tensor;
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_text::is_active;
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Maximum length of a header, as in NumPy.
const MAX_HEADER_BYTES: usize = 10_000;

/// The content of a header.
#[derive(PartialEq, Eq, Debug)]
struct Header {
    is_big: bool,
    /// `b i u f c U S V`
    kind: char,
    /// Bytes of an element; for `U`, characters.
    size: usize,
    is_fortran: bool,
    dims: Vec<usize>,
}

/// The most bytes that the arrays of an archive may have together, if the archive is small: a few bytes of a packed array may stand for
/// thousands.
pub(crate) const MAX_UNPACKED: u64 = 1 << 30;
/// An archive may unpack to so many times its size in any case.
const MAX_RATIO: u64 = 8;
/// The bytes that a string needs besides its characters.
const STRING: u64 = 32;

/// The longest name of a file in an archive, in bytes: with its other fields, an entry has less than 64 KiB.
const MAX_ENTRY: usize = 65_000;

/// The use that a reader of an archive has for an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// It is not unpacked.
    No,
    /// It is read; bytes without a NumPy type are of this one.
    As(Option<ElemType>),
}

/// The content of an archive.
#[derive(Debug)]
pub(crate) struct Arrays {
    pub(crate) read: Vec<(String, Tensor)>,
    /// The names of the others.
    pub(crate) skipped: Vec<String>,
}

/// Reads an array; `wanted` is the declared element type.
pub(crate) fn read(bytes: &[u8], wanted: Option<ElemType>) -> anyhow::Result<Tensor> {
    let mut rest = bytes;
    read_from(&mut rest, bytes.len() as u64, wanted, &mut most_of(bytes))
}

/// The bytes that a file may unpack to.
fn most_of(bytes: &[u8]) -> u64 {
    (bytes.len() as u64).saturating_mul(MAX_RATIO).max(MAX_UNPACKED)
}

/// Reads an array from a source of the given length, and takes what it needs from the bytes that are left.
fn read_from(
    source: &mut dyn Read,
    length: u64,
    wanted: Option<ElemType>,
    left: &mut u64,
) -> anyhow::Result<Tensor> {
    let mut start = [0; 8];
    source.read_exact(&mut start[..MAGIC.len()]).context("this is not a .npy file")?;
    ensure!(start.starts_with(MAGIC), "this is not a .npy file");
    let truncated = "the header is truncated";
    source.read_exact(&mut start[MAGIC.len()..]).context(truncated)?;
    let (wide, size) = match start[MAGIC.len()] {
        1 => (false, 2),
        2 | 3 => (true, 4),
        major => bail!("unknown version {major} of .npy files"),
    };
    let mut bytes = [0; 4];
    source.read_exact(&mut bytes[..size]).context(truncated)?;
    let header_length = if wide {
        u32::from_le_bytes(bytes) as usize
    } else {
        usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
    };
    ensure!(header_length <= MAX_HEADER_BYTES, "the header has {}", counted(header_length, "byte"));
    let mut header = vec![0; header_length];
    source.read_exact(&mut header).context(truncated)?;
    let header = header::parse(std::str::from_utf8(&header).context("the header is not UTF-8")?)?;
    let there = length.saturating_sub((start.len() + size + header_length) as u64);
    array(&header, source, there, wanted, left)
}

/// Reads the array after a header, which has this many bytes left.
fn array(
    header: &Header,
    source: &mut dyn Read,
    there: u64,
    wanted: Option<ElemType>,
    left: &mut u64,
) -> anyhow::Result<Tensor> {
    let truncated = "the array is truncated";
    let elem = header.elem(wanted)?;
    let width = header.size.checked_mul(if header.kind == 'U' { 4 } else { 1 }).context(truncated)?;
    let count = header.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    let size = count.and_then(|count| count.checked_mul(width));
    let size = size.filter(|size| *size as u64 <= there).context(truncated)?;
    let count = count.unwrap_or(0);
    // Elements without bytes are empty strings.
    ensure!(width > 0 || count as u64 <= there, "the array has more elements than the file has bytes");
    let needed = header.memory();
    *left = left.checked_sub(needed).with_context(|| {
        format!("it needs {}, but the file may unpack to {left} more at most", counted(needed, "byte"))
    })?;
    let is_turned = header.is_fortran && header.dims.len() > 1;
    let mut tensor = if elem == ElemType::STRING || is_turned {
        // The result needs at least this much memory as well.
        let mut bytes = Tensor::zeros(ElemType::UINT8, &[size])?;
        source.read_exact(bytes.bytes_mut()?).context(truncated)?;
        let element = |i: usize| {
            let at = if is_turned { header.place(i, count) } else { i };
            &bytes.bytes()[at * width..][..width]
        };
        if elem == ElemType::STRING {
            return strings(header, (0..count).map(element));
        }
        let mut tensor = Tensor::zeros(elem, &header.dims)?;
        for (i, to) in tensor.bytes_mut()?.chunks_exact_mut(width.max(1)).enumerate() {
            to.copy_from_slice(element(i));
        }
        tensor
    } else {
        let mut tensor = Tensor::zeros(elem, &header.dims)?;
        source.read_exact(tensor.bytes_mut()?).context(truncated)?;
        tensor
    };
    let word = if header.kind == 'c' { width / 2 } else { width };
    if header.is_big {
        tensor.bytes_mut()?.chunks_exact_mut(word.max(1)).for_each(<[u8]>::reverse);
    }
    narrow(&mut tensor, header.kind)?;
    if elem == ElemType::BOOL {
        tensor.bytes_mut()?.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    Ok(tensor)
}

/// Checks that elements of less than a byte are numbers of their type, and extends their signs.
fn narrow(tensor: &mut Tensor, kind: char) -> anyhow::Result<()> {
    let elem = tensor.elem();
    let Some(bits) = elem.bits().filter(|bits| *bits < 8 && elem != ElemType::BOOL) else { return Ok(()) };
    let is_signed = matches!(elem, ElemType::INT4 | ElemType::INT2);
    let (unused, mask) = (8 - bits, (1u8 << bits) - 1);
    for (i, byte) in tensor.bytes_mut()?.iter_mut().enumerate() {
        let extended = if is_signed {
            ((*byte << unused).cast_signed() >> unused).cast_unsigned()
        } else {
            *byte & mask
        };
        // Bytes of ml_dtypes have zeros in place of signs.
        let fits = *byte == extended || kind == 'V' && *byte == *byte & mask;
        let name = elem.name().unwrap_or("?");
        ensure!(
            fits,
            "element {i} is {}, which {name} cannot hold",
            if kind == 'i' { i16::from(byte.cast_signed()) } else { i16::from(*byte) }
        );
        *byte = extended;
    }
    Ok(())
}

fn strings<'b>(header: &Header, elements: impl Iterator<Item = &'b [u8]>) -> anyhow::Result<Tensor> {
    let mut wrong = None;
    let texts = elements.map_while(|bytes| match header.string(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            wrong = Some(error);
            None
        }
    });
    let tensor = Tensor::from_strings(&header.dims, texts);
    wrong.map_or_else(|| Ok(tensor?), Err)
}

impl Header {
    /// About the bytes of memory that the array takes.
    fn memory(&self) -> u64 {
        let size = self.size as u64;
        let element = match self.kind {
            'U' => size.saturating_mul(4).saturating_add(STRING),
            'S' => size.saturating_add(STRING),
            _ => size,
        };
        // A file without elements may state any other dimensions.
        let is_empty = self.dims.contains(&0);
        let count = self.dims.iter().fold(1u64, |n, &d| n.saturating_mul(d as u64));
        if is_empty { 0 } else { count.saturating_mul(element) }
    }

    /// The element type; bytes without a NumPy type are of the wanted one.
    fn elem(&self, wanted: Option<ElemType>) -> anyhow::Result<ElemType> {
        use ElemType as E;
        if let Some(wanted) = wanted
            && descr(wanted).is_some_and(|(kind, size)| {
                let is_bytes = kind == 'V' && matches!(self.kind, 'u' | 'i');
                let is_small = self.kind == 'V' && wanted.bits().is_some_and(|bits| bits < 8);
                size == self.size && (kind == self.kind || is_bytes || is_small && wanted != E::BOOL)
            })
        {
            return Ok(wanted);
        }
        Ok(match (self.kind, self.size) {
            ('b', 1) => E::BOOL,
            ('i', 1) => E::INT8,
            ('i', 2) => E::INT16,
            ('i', 4) => E::INT32,
            ('i', 8) => E::INT64,
            ('u', 1) => E::UINT8,
            ('u', 2) => E::UINT16,
            ('u', 4) => E::UINT32,
            ('u', 8) => E::UINT64,
            ('f', 2) => E::FLOAT16,
            ('f', 4) => E::FLOAT,
            ('f', 8) => E::DOUBLE,
            ('c', 8) => E::COMPLEX64,
            ('c', 16) => E::COMPLEX128,
            ('U' | 'S', _) => E::STRING,
            ('V', size) => {
                let to = match wanted.filter(|wanted| descr(*wanted).is_none_or(|(kind, _)| kind != 'V')) {
                    Some(E::FLOAT) => "float32",
                    Some(E::DOUBLE) => "float64",
                    Some(wanted) if wanted.bits().is_some_and(|bits| bits >= 8) => {
                        wanted.name().unwrap_or("int8")
                    }
                    Some(_) => "int8",
                    None => "float32",
                };
                bail!(
                    "elements of NumPy type V{size} are bytes of a type that NumPy does not have: write the array with `.astype(\"{to}\")`"
                )
            }
            (kind, size) => bail!("elements of NumPy type {kind}{size} are not supported"),
        })
    }

    /// The index in column-major order of an element in row-major order, of `count` elements.
    fn place(&self, mut at: usize, count: usize) -> usize {
        let (mut place, mut stride) = (0, count);
        for &d in self.dims.iter().rev() {
            stride /= d.max(1);
            place += at % d.max(1) * stride;
            at /= d.max(1);
        }
        place
    }

    /// A string, which NumPy pads with zeros.
    fn string(&self, bytes: &[u8]) -> anyhow::Result<String> {
        if self.kind == 'S' {
            let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            return Ok(std::str::from_utf8(&bytes[..end]).context("a string is not UTF-8")?.to_owned());
        }
        let code =
            |word: &[u8; 4]| if self.is_big { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) };
        let chars = bytes.as_chunks::<4>().0.iter().map(|word| char::from_u32(code(word)));
        let text: String = chars.collect::<Option<_>>().context("a string is not Unicode")?;
        Ok(text.trim_end_matches('\0').to_owned())
    }
}

/// Kind and size of NumPy's elements for a type; types that NumPy does not have are bytes.
fn descr(elem: ElemType) -> Option<(char, usize)> {
    use ElemType as E;
    let size = elem.bits()?.div_ceil(8) as usize;
    Some(match elem {
        E::BOOL => ('b', 1),
        E::INT64 | E::INT32 | E::INT16 | E::INT8 | E::INT4 | E::INT2 => ('i', size),
        E::UINT64 | E::UINT32 | E::UINT16 | E::UINT8 | E::UINT4 | E::UINT2 => ('u', size),
        E::FLOAT | E::DOUBLE | E::FLOAT16 => ('f', size),
        E::COMPLEX64 | E::COMPLEX128 => ('c', size),
        _ => ('V', size),
    })
}

/// Writes an array.
pub(crate) fn write(tensor: &Tensor, out: &mut dyn Write) -> io::Result<()> {
    let strings = tensor.string_slice().unwrap_or_default();
    let longest = strings.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let (kind, size) = descr(tensor.elem()).unwrap_or(('U', longest));
    let order = if size == 1 && kind != 'U' { '|' } else { '<' };
    let dims: String = tensor.dims().iter().map(|d| format!("{d}, ")).collect();
    let shape = if tensor.rank() == 1 { dims.trim_end() } else { dims.trim_end_matches(", ") };
    let mut header =
        format!("{{'descr': '{order}{kind}{size}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The data is aligned to 64 bytes: magic, version and length take ten, the line end one.
    let fill = (64 - (header.len() + 11) % 64) % 64;
    header.extend(std::iter::repeat_n(' ', fill));
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(|_| io::Error::other("the shape is too long"))?;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    out.write_all(tensor.bytes())?;
    for text in strings {
        let mut units: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        units.resize(longest * 4, 0);
        out.write_all(&units)?;
    }
    Ok(())
}

/// The arrays of an archive with their names, as far as they are wanted. They may unpack to [`MAX_UNPACKED`] bytes together.
pub(crate) fn read_all(bytes: &[u8], wanted: impl Fn(&str) -> Wanted) -> anyhow::Result<Arrays> {
    read_at_most(bytes, most_of(bytes), wanted)
}

/// Reads arrays that have at most this number of bytes together.
pub(crate) fn read_at_most(
    bytes: &[u8],
    most: u64,
    wanted: impl Fn(&str) -> Wanted,
) -> anyhow::Result<Arrays> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).context("this is not a .npz file")?;
    let mut arrays = Arrays { read: Vec::new(), skipped: Vec::new() };
    let mut left = most.min(most_of(bytes));
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).context("the archive is corrupt")?;
        let name = entry.name().context("the archive is corrupt")?.into_owned();
        let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else { continue };
        let Wanted::As(elem) = wanted(&name) else {
            arrays.skipped.push(name);
            continue;
        };
        // The stated size may be wrong: memory is reserved before the data is read.
        let length = entry.size();
        let array = || format!("array `{name}`");
        let tensor = read_from(&mut entry, length, elem, &mut left).with_context(array)?;
        // At its end, the checksum of the archive is compared.
        _ = entry.read(&mut [0]).with_context(|| format!("cannot unpack `{name}`"))?;
        arrays.read.push((name, tensor));
    }
    Ok(arrays)
}

/// Writes an archive of arrays.
pub(crate) fn write_all(arrays: &[(String, Tensor)], out: &mut dyn Write) -> io::Result<()> {
    let mut archive = ZipWriter::new_stream(out);
    for (name, tensor) in arrays {
        let is_large = tensor.bytes().len() >= 1 << 31;
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(is_large);
        let entry = format!("{}.npy", member(name));
        if entry.len() > MAX_ENTRY {
            let start: String = name.chars().take(40).collect();
            let message = format!(
                "the name `{start}…` has {}: a .npz file holds names of up to {}",
                counted(entry.len() - 4, "byte"),
                MAX_ENTRY - 4,
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        archive.start_file(entry, options)?;
        write(tensor, &mut archive)?;
    }
    archive.finish()?;
    Ok(())
}

/// The name of a value in an archive, with bytes escaped as in URIs that could send control sequences to a terminal or leave
/// the folder where the archive is unpacked.
pub(crate) fn member(name: &str) -> String {
    let is_outside = name.starts_with('/') || name.split('/').any(|part| part == "..");
    let is_special = |c: char| is_active(c) || matches!(c, '\n' | '\t' | '\\') || (is_outside && c == '/');
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if is_special(c) {
            c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| out += &format!("%{byte:02X}"));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a file name is that of an archive.
pub(crate) fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"))
}

/// Whether a file is an archive that has an array of this name.
pub(crate) fn has_array(file: &mut std::fs::File, name: &str) -> bool {
    let name = format!("{}.npy", member(name));
    ZipArchive::new(file).is_ok_and(|archive| archive.index_for_name(&name).is_some())
}

/// Whether a file name is that of an array.
pub(crate) fn is_array(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn what_is_written_is_read() {
        let half = Tensor::of_raw(ElemType::BFLOAT16, &[2], &[1u16, 2]).unwrap();
        for tensor in [
            Tensor::of(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap(),
            Tensor::scalar(7i64).unwrap(),
            Tensor::of::<u8>(&[0, 4], &[]).unwrap(),
            Tensor::of_bools(&[1], [true]).unwrap(),
            Tensor::of_strings(&[2], vec!["é".into(), String::new()]).unwrap(),
            half,
        ] {
            let mut bytes = Vec::new();
            write_all(&[("a/b".to_owned(), tensor.clone())], &mut bytes).unwrap();
            let arrays = read_all(&bytes, |_| Wanted::As(Some(tensor.elem()))).unwrap();
            assert_eq!(arrays.read, [("a/b".to_owned(), tensor)]);
        }
    }

    #[test]
    fn elements_of_less_than_a_byte_are_read() {
        use ElemType as E;
        let header = |descr: &str| format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (4,), }}");
        let bytes = |descr: &str, data: &[u8; 4], elem| {
            read(&file(&header(descr), data), Some(elem)).map(|tensor| tensor.bytes().to_vec())
        };
        // As ml_dtypes writes them, and as NumPy writes numbers.
        assert_eq!(bytes("<V1", &[14, 15, 0, 7], E::INT4).unwrap(), [0xfe, 0xff, 0, 7]);
        assert_eq!(bytes("<V1", &[2, 3, 0, 1], E::INT2).unwrap(), [0xfe, 0xff, 0, 1]);
        assert_eq!(bytes("|V1", &[0xfe, 15, 0, 7], E::INT4).unwrap(), [0xfe, 0xff, 0, 7]);
        assert_eq!(bytes("<V1", &[15, 8, 0, 7], E::UINT4).unwrap(), [15, 8, 0, 7]);
        assert_eq!(bytes("<V1", &[3, 2, 0, 1], E::UINT2).unwrap(), [3, 2, 0, 1]);
        assert_eq!(bytes("<V1", &[12, 10, 0, 2], E::FLOAT4E2M1).unwrap(), [12, 10, 0, 2]);
        assert_eq!(bytes("|i1", &[0xf8, 7, 0, 1], E::INT4).unwrap(), [0xf8, 7, 0, 1]);
        for (descr, data, elem, why) in [
            ("<V1", [16, 0, 0, 0], E::INT4, "element 0 is 16, which int4 cannot hold"),
            ("|i1", [0, 8, 0, 0], E::INT4, "element 1 is 8, which int4 cannot hold"),
            ("|i1", [0, 0, 0xf0, 0], E::INT4, "element 2 is -16, which int4 cannot hold"),
            ("|u1", [0, 0, 0, 4], E::UINT2, "element 3 is 4, which uint2 cannot hold"),
            ("<V1", [0, 0, 0, 16], E::FLOAT4E2M1, "element 3 is 16, which float4e2m1 cannot hold"),
        ] {
            assert_eq!(format!("{:#}", bytes(descr, &data, elem).unwrap_err()), why);
        }
        for (wanted, to) in [(Some(E::FLOAT), "float32"), (Some(E::INT16), "int16"), (None, "float32")] {
            let error = read(&file(&header("<V1"), &[0; 4]), wanted).unwrap_err();
            assert!(format!("{error:#}").contains(&format!(".astype(\"{to}\")")), "{error:#}");
        }
    }

    #[test]
    fn names_that_an_archive_cannot_hold_are_refused() {
        let one = Tensor::scalar(1u8).unwrap();
        let written = |names: &[&str]| {
            let arrays: Vec<_> = names.iter().map(|name| ((*name).to_owned(), one.clone())).collect();
            let mut bytes = Vec::new();
            write_all(&arrays, &mut bytes).map(|()| read_all(&bytes, |_| Wanted::As(None)).unwrap().read)
        };
        let longest = "n".repeat(MAX_ENTRY - 4);
        assert_eq!(written(&[&longest]).unwrap()[0].0, longest);
        let error = written(&[&"n".repeat(MAX_ENTRY - 3)]).unwrap_err().to_string();
        assert!(error.ends_with("has 64997 bytes: a .npz file holds names of up to 64996"), "{error}");
        // Names that are equal, and names that are equal after escaping.
        assert!(written(&["a", "a"]).is_err() && written(&["a\n", "a%0A"]).is_err());
    }

    #[test]
    fn names_in_archives_are_harmless() {
        assert_eq!(member("a/b..c/é"), "a/b..c/é");
        assert_eq!(member("\x1b[1m\u{9b}\n"), "%1B[1m%C2%9B%0A");
        assert_eq!((member("../../a"), member("/a\\b")), ("..%2F..%2Fa".into(), "%2Fa%5Cb".into()));
    }

    #[test]
    fn headers_of_other_writers_are_read() {
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }\n";
        let tensor = read(&file(header, &[0, 1, 0, 2, 0, 3, 0, 4]), None).unwrap();
        assert_eq!(tensor.slice::<i16>().unwrap(), [1, 3, 2, 4]);
        let header = "{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }";
        let strings = read(&file(header, b"ab\0\0\0\0"), None).unwrap();
        assert_eq!(strings.string_slice().unwrap(), ["ab", ""]);
    }

    /// An archive of packed zeros: `count` arrays of `size` bytes each, under the names `a0`, `a1` …
    fn packed(count: usize, size: usize) -> Vec<u8> {
        let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({size},), }}");
        let array = file(&header, &vec![0; size]);
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for i in 0..count {
            let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
            archive.start_file(format!("a{i}.npy"), options).unwrap();
            archive.write_all(&array).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn little_does_not_unpack_to_much() {
        let bytes = packed(4, 1 << 16);
        assert!(bytes.len() < 1 << 12, "{} bytes are packed", bytes.len());
        let all = read_at_most(&bytes, 4 << 16, |_| Wanted::As(None)).unwrap();
        assert_eq!((all.read.len(), all.skipped.len()), (4, 0));
        let error = format!("{:#}", read_at_most(&bytes, (4 << 16) - 1, |_| Wanted::As(None)).unwrap_err());
        assert_eq!(error, "array `a3`: it needs 65536 bytes, but the file may unpack to 65535 more at most");
        // Only what is wanted is unpacked and counts.
        let one = |name: &str| if name == "a2" { Wanted::As(None) } else { Wanted::No };
        let only = read_at_most(&bytes, 1 << 16, one).unwrap();
        assert_eq!(
            (only.read[0].0.as_str(), &only.skipped[..]),
            ("a2", &["a0", "a1", "a3"].map(str::to_owned)[..])
        );
    }

    #[test]
    fn headers_that_promise_much_are_refused_before_memory_is_reserved() {
        let header = |descr: &str, shape: &str| {
            let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape},), }}");
            header::parse(&header).unwrap().memory()
        };
        assert_eq!(header("<f4", "3"), 12);
        assert_eq!((header("|S1", "2"), header("<U1", "2")), (66, 72));
        assert_eq!(header("<f4", "0, 99999999999"), 0);
        assert_eq!(header("<f8", "99999999999, 99999999999"), u64::MAX);
    }

    #[test]
    fn broken_arrays_are_refused() {
        for (header, data, why) in [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", &[0u8; 4][..], "truncated"),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
                &[],
                "truncated",
            ),
            ("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", &[], "Python objects"),
            ("{'descr': '<f3', 'fortran_order': False, 'shape': (2,), }", &[], "f3"),
            ("{'descr': '<U0', 'fortran_order': False, 'shape': (99999999999,), }", &[], "more elements"),
            ("{'fortran_order': False, 'shape': (2,), }", &[], "no `descr`"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } 7", &[0; 4], "unexpected text"),
        ] {
            let error = format!("{:#}", read(&file(header, data), None).unwrap_err());
            assert!(error.contains(why), "{error}");
        }
    }
}
