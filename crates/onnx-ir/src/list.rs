//! Lists of attributes, in memory or as a file stores them.
//!
//! A tree ensemble has lists of a hundred thousand numbers, and checking or writing the model only iterates over them. So a long
//! list stays in the bytes of the file: [`List::elements`] decodes it on the fly, and only access as a slice decodes it
//! completely, once.

use bytes::Bytes;
use std::sync::OnceLock;

/// An element type of lists: numbers, or byte strings.
pub trait Element: Clone + std::fmt::Debug + 'static {
    /// A borrowed element.
    type Ref<'a>: Copy + Default + PartialEq;
    /// Borrows an element.
    fn view(&self) -> Self::Ref<'_>;
    /// The element to keep; a string is a slice of `file`.
    fn keep(element: Self::Ref<'_>, file: &Bytes) -> Self;
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Element for $ty {
            type Ref<'a> = $ty;
            fn view(&self) -> $ty {
                *self
            }
            fn keep(element: $ty, _file: &Bytes) -> $ty {
                element
            }
        }
    )*};
}
numbers!(i64, f32);

impl Element for Bytes {
    type Ref<'a> = &'a [u8];
    fn view(&self) -> &[u8] {
        self
    }
    fn keep(element: &[u8], file: &Bytes) -> Bytes {
        file.slice_ref(element)
    }
}

/// Elements that are decoded at once.
pub const CHUNK: usize = 32;
/// Room for as many elements.
pub type Chunk<'a, T> = [<T as Element>::Ref<'a>; CHUNK];
/// Decodes elements from the front of the bytes and advances them; returns the number of elements in the chunk, 0 only at the
/// end.
pub type Decode<T> = for<'a> fn(&mut &'a [u8], &mut Chunk<'a, T>) -> usize;

/// The elements of a list attribute. It is a slice to those who want one.
#[derive(Clone)]
pub struct List<T: Element>(Form<T>);

#[derive(Clone)]
enum Form<T: Element> {
    Made(Vec<T>),
    Stored(Box<Stored<T>>),
}

#[derive(Clone)]
struct Stored<T: Element> {
    file: Bytes,
    len: usize,
    decode: Decode<T>,
    made: OnceLock<Vec<T>>,
}

impl<T: Element> List<T> {
    /// A list of `len` elements in the bytes of a file, which `decode` must accept.
    pub fn stored(file: Bytes, len: usize, decode: Decode<T>) -> List<T> {
        List(Form::Stored(Box::new(Stored { file, len, decode, made: OnceLock::new() })))
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Made(list) => list.len(),
            Form::Stored(stored) => stored.len,
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the elements: a long list stays in its file.
    pub fn elements(&self) -> Elements<'_, T> {
        match &self.0 {
            Form::Stored(stored) if stored.made.get().is_none() => {
                Elements(ElementsSource::Stored(Decoding {
                    rest: &stored.file,
                    decode: stored.decode,
                    chunk: [T::Ref::default(); CHUNK],
                    at: 0,
                    filled: 0,
                }))
            }
            Form::Made(_) | Form::Stored(_) => Elements::of(self),
        }
    }

    /// A copy of all elements.
    pub fn to_vec(&self) -> Vec<T> {
        match &self.0 {
            Form::Made(list) => list.clone(),
            Form::Stored(stored) => stored.made.get().cloned().unwrap_or_else(|| stored.decoded()),
        }
    }

    /// The list to change.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Form::Stored(stored) = &mut self.0 {
            let made = stored.made.take().unwrap_or_else(|| stored.decoded());
            self.0 = Form::Made(made);
        }
        match &mut self.0 {
            Form::Made(list) => list,
            Form::Stored(_) => unreachable!("it has just been made"),
        }
    }
}

impl List<Bytes> {
    /// Whether all strings are certainly ASCII, by a single check of all bytes: strings of a long list may be ASCII although this
    /// is false.
    pub fn is_ascii(&self) -> bool {
        match &self.0 {
            Form::Made(list) => list.iter().all(|string| string.is_ascii()),
            // The keys between the strings may not be ASCII.
            Form::Stored(stored) => stored.file.is_ascii(),
        }
    }
}

impl<T: Element> Stored<T> {
    fn decoded(&self) -> Vec<T> {
        let mut made = Vec::with_capacity(self.len);
        let (mut rest, mut chunk) = (&*self.file, [T::Ref::default(); CHUNK]);
        loop {
            let filled = (self.decode)(&mut rest, &mut chunk);
            made.extend(chunk[..filled].iter().map(|&element| T::keep(element, &self.file)));
            if filled == 0 {
                return made;
            }
        }
    }
}

impl<T: Element> std::ops::Deref for List<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match &self.0 {
            Form::Made(list) => list,
            Form::Stored(stored) => stored.made.get_or_init(|| stored.decoded()),
        }
    }
}

impl<T: Element> Default for List<T> {
    fn default() -> Self {
        List(Form::Made(Vec::new()))
    }
}

impl<T: Element> From<Vec<T>> for List<T> {
    fn from(list: Vec<T>) -> Self {
        List(Form::Made(list))
    }
}

impl<T: Element> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Vec::from_iter(elements).into()
    }
}

impl<T: Element> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.elements().eq(other.elements())
    }
}

impl<T: Element> std::fmt::Debug for List<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The elements of a list, one after the other.
#[derive(Clone)]
pub struct Elements<'a, T: Element>(ElementsSource<'a, T>);

#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "it lives as long as a loop")]
enum ElementsSource<'a, T: Element> {
    Made(std::slice::Iter<'a, T>),
    Stored(Decoding<'a, T>),
}

#[derive(Clone)]
struct Decoding<'a, T: Element> {
    rest: &'a [u8],
    decode: Decode<T>,
    chunk: Chunk<'a, T>,
    at: usize,
    filled: usize,
}

impl<'a, T: Element> Elements<'a, T> {
    /// Iterates over a slice.
    pub fn of(slice: &'a [T]) -> Elements<'a, T> {
        Elements(ElementsSource::Made(slice.iter()))
    }
}

impl<T: Element> Decoding<'_, T> {
    /// Decodes elements, where none are left of those that were.
    #[inline]
    fn fill(&mut self) {
        if self.at == self.filled {
            self.at = 0;
            self.filled = (self.decode)(&mut self.rest, &mut self.chunk);
        }
    }
}

/// Numbers in chunks: a loop step takes less time than fetching an element.
impl<T: for<'r> Element<Ref<'r> = T>> Elements<'_, T> {
    /// The next elements; empty only at the end.
    fn at_hand(&mut self) -> &[T] {
        match &mut self.0 {
            ElementsSource::Made(elements) => elements.as_slice(),
            ElementsSource::Stored(stored) => {
                stored.fill();
                &stored.chunk[stored.at..stored.filled]
            }
        }
    }

    /// Steps over elements that are at hand.
    fn step(&mut self, count: usize) {
        match &mut self.0 {
            ElementsSource::Made(elements) => *elements = elements.as_slice()[count..].iter(),
            ElementsSource::Stored(stored) => stored.at += count,
        }
    }

    /// The first element that satisfies a predicate, with its index.
    pub fn first(mut self, mut holds: impl FnMut(usize, T) -> bool) -> Option<(usize, T)> {
        let mut before = 0;
        loop {
            let elements = self.at_hand();
            if elements.is_empty() {
                return None;
            }
            for (i, element) in (before..).zip(elements) {
                if holds(i, element.view()) {
                    return Some((i, element.view()));
                }
            }
            let count = elements.len();
            before += count;
            self.step(count);
        }
    }

    /// The first pair of elements of two parallel lists that satisfies a predicate, with its index.
    pub fn first_pair<U: for<'r> Element<Ref<'r> = U>>(
        mut self,
        mut other: Elements<'_, U>,
        mut holds: impl FnMut(usize, T, U) -> bool,
    ) -> Option<(usize, T, U)> {
        let mut before = 0;
        loop {
            let (ours, others) = (self.at_hand(), other.at_hand());
            let count = ours.len().min(others.len());
            if count == 0 {
                return None;
            }
            for (i, (one, two)) in (before..).zip(ours.iter().zip(others)) {
                if holds(i, one.view(), two.view()) {
                    return Some((i, one.view(), two.view()));
                }
            }
            before += count;
            self.step(count);
            other.step(count);
        }
    }
}

impl<'a, T: Element> Iterator for Elements<'a, T> {
    type Item = T::Ref<'a>;

    #[inline]
    fn next(&mut self) -> Option<T::Ref<'a>> {
        match &mut self.0 {
            ElementsSource::Made(elements) => elements.next().map(T::view),
            ElementsSource::Stored(stored) => {
                stored.fill();
                let element = stored.chunk[..stored.filled].get(stored.at)?;
                stored.at += 1;
                Some(*element)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as numbers, a few at once.
    fn decode<'a>(rest: &mut &'a [u8], chunk: &mut Chunk<'a, i64>) -> usize {
        let (front, behind) = rest.split_at(rest.len().min(5));
        chunk.iter_mut().zip(front).for_each(|(number, byte)| *number = i64::from(*byte));
        *rest = behind;
        front.len()
    }

    fn letters<'a>(rest: &mut &'a [u8], chunk: &mut Chunk<'a, Bytes>) -> usize {
        let Some((first, behind)) = rest.split_at_checked(1) else { return 0 };
        (chunk[0], *rest) = (first, behind);
        1
    }

    #[test]
    fn a_list_in_a_file_is_like_one_in_memory() {
        for len in 0..12_u8 {
            let bytes: Vec<u8> = (0..len).collect();
            let mut stored = List::<i64>::stored(bytes.clone().into(), bytes.len(), decode);
            let made: List<i64> = bytes.iter().copied().map(i64::from).collect();
            assert_eq!((stored.len(), stored.is_empty()), (bytes.len(), len == 0));
            assert!(stored.elements().eq(made.elements()) && stored == made);
            for at in 0..=i64::from(len) {
                let found = (at < i64::from(len)).then_some((at as usize, at));
                let pair = found.map(|(i, at)| (i, at, at));
                for list in [&stored, &made] {
                    assert_eq!(list.elements().first(|i, x| i == at as usize && x == at), found);
                    for other in [&stored, &made] {
                        let other = other.elements();
                        assert_eq!(
                            list.elements()
                                .first_pair(other, |i, x, y| i == at as usize && x == at && y == at),
                            pair
                        );
                    }
                }
            }
            assert_eq!(stored.to_vec(), made.to_vec());
            assert_eq!((&stored[..], format!("{stored:?}")), (&made[..], format!("{made:?}")));
            assert!(
                stored.elements().eq(made.elements()) && stored.to_vec() == made.to_vec(),
                "when it is decoded"
            );
            stored.to_mut().push(-1);
            assert_ne!(stored, made);
            assert_eq!(stored.last(), Some(&-1));
        }
        let file = Bytes::from_static(b"abc");
        let strings = List::<Bytes>::stored(file.clone(), 3, letters);
        assert_eq!(strings[1].as_ptr(), file[1..].as_ptr(), "strings are slices of the file");
        assert!(strings.elements().eq([b"a", b"b", b"c"]));
    }
}
