//! Lists of attributes, in memory or as a file stores them.
//!
//! A tree ensemble has lists of a hundred thousand numbers, and checking or writing the model only iterates over them. So a
//! reader may leave a long list where it is, as a [`StoredList`]: [`List::elements`] decodes it during iteration, and only access
//! as a slice decodes it completely, once.

use bytes::Bytes;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

/// An element type of lists: numbers, or byte strings.
pub trait Element: Clone + Send + Sync + UnwindSafe + RefUnwindSafe + std::fmt::Debug + 'static {
    /// A borrowed element.
    type Ref<'a>: Copy + Default + PartialEq;
    /// Borrows an element.
    fn view(&self) -> Self::Ref<'_>;
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Element for $ty {
            type Ref<'a> = $ty;
            fn view(&self) -> $ty {
                *self
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
}

/// Elements that are decoded at once.
pub const CHUNK: usize = 32;
/// Room for as many elements.
pub type Chunk<'a, T> = [<T as Element>::Ref<'a>; CHUNK];

/// A list in the encoding of a format.
pub trait StoredList<T: Element>: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// The number of elements, at least one.
    fn count(&self) -> usize;
    /// Decodes elements from an offset of the implementation, 0 at first, and advances it; returns the number of elements in the
    /// chunk, 0 only at the end.
    fn decode<'a>(&'a self, offset: &mut usize, chunk: &mut Chunk<'a, T>) -> usize;
    /// All elements, which are decoded at the first call.
    fn as_slice(&self) -> &[T];
    /// Whether all strings are certainly ASCII, if that is known at less cost than that of decoding them.
    fn is_ascii(&self) -> bool {
        false
    }
}

/// The elements of a list attribute. It is a slice to those who want one.
#[derive(Clone)]
pub struct List<T: Element>(Form<T>);

#[derive(Clone)]
enum Form<T: Element> {
    Made(Vec<T>),
    Stored(Arc<dyn StoredList<T>>),
}

impl<T: Element> List<T> {
    /// A list that stays in the encoding of its format.
    pub fn stored(list: impl StoredList<T> + 'static) -> List<T> {
        List(Form::Stored(Arc::new(list)))
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Made(list) => list.len(),
            Form::Stored(list) => list.count(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Iterates over the elements without decoding a stored list as a whole.
    pub fn elements(&self) -> Elements<'_, T> {
        match &self.0 {
            Form::Made(list) => Elements::of(list),
            Form::Stored(list) => Elements(ElementsSource::Stored(Decoding {
                list: &**list,
                offset: 0,
                chunk: [T::Ref::default(); CHUNK],
                at: 0,
                filled: 0,
            })),
        }
    }

    /// The list to change.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Form::Stored(list) = &self.0 {
            self.0 = Form::Made(list.as_slice().to_vec());
        }
        match &mut self.0 {
            Form::Made(list) => list,
            Form::Stored(_) => unreachable!("it has just been made"),
        }
    }
}

impl List<Bytes> {
    /// Whether all strings are certainly ASCII: strings of a stored list may be ASCII although this is false.
    pub fn is_ascii(&self) -> bool {
        match &self.0 {
            Form::Made(list) => list.iter().all(|string| string.is_ascii()),
            Form::Stored(list) => list.is_ascii(),
        }
    }
}

impl<T: Element> std::ops::Deref for List<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        match &self.0 {
            Form::Made(list) => list,
            Form::Stored(list) => list.as_slice(),
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
    list: &'a dyn StoredList<T>,
    offset: usize,
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
            self.filled = self.list.decode(&mut self.offset, &mut self.chunk);
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

    /// Numbers of which five are decoded at once.
    struct Fives(Vec<i64>);

    impl StoredList<i64> for Fives {
        fn count(&self) -> usize {
            self.0.len()
        }
        fn decode<'a>(&'a self, offset: &mut usize, chunk: &mut Chunk<'a, i64>) -> usize {
            let next = self.0[*offset..].iter().take(5);
            let filled = chunk.iter_mut().zip(next).map(|(to, from)| *to = *from).count();
            *offset += filled;
            filled
        }
        fn as_slice(&self) -> &[i64] {
            &self.0
        }
    }

    #[test]
    fn a_stored_list_is_like_one_in_memory() {
        for len in 0..12_i64 {
            let numbers: Vec<i64> = (0..len).collect();
            let mut stored = List::stored(Fives(numbers.clone()));
            let made = List::from(numbers);
            assert_eq!((stored.len(), stored.is_empty()), (made.len(), len == 0));
            assert!(stored.elements().eq(made.elements()) && stored == made);
            for at in 0..=len {
                let found = (at < len).then_some((at as usize, at));
                let pair = found.map(|(i, at)| (i, at, at));
                for list in [&stored, &made] {
                    assert_eq!(list.elements().first(|i, x| i == at as usize && x == at), found);
                    for other in [&stored, &made] {
                        let holds = |i, x, y| i == at as usize && x == at && y == at;
                        assert_eq!(list.elements().first_pair(other.elements(), holds), pair);
                    }
                }
            }
            assert_eq!((&stored[..], format!("{stored:?}")), (&made[..], format!("{made:?}")));
            let copy = stored.clone();
            stored.to_mut().push(-1);
            assert_ne!(stored, made);
            assert_eq!((stored.last(), copy), (Some(&-1), made));
        }
    }
}
