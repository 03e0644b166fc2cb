//! Lists whose size depends on data: their memory is charged to the budget of the run until they are dropped.
//!
//! Kernels use these lists. `Vec` is for lists that the text of the model bounds, such as axes, sizes and attributes; `cargo
//! xtask tidy` finds the others.

use crate::budget::{Charge, look};
use crate::failure::{Failure, fail};
use onnx_ir::diag::counted;
use std::ops::{Deref, DerefMut};
use std::{fmt, slice, vec};

/// A list whose memory is charged to the run that allocates it. It dereferences to a slice.
pub struct List<T> {
    items: Vec<T>,
    charge: Charge,
}

impl<T> List<T> {
    /// An empty list, which allocates nothing.
    #[inline]
    pub fn new() -> List<T> {
        List { items: Vec::new(), charge: Charge::none() }
    }

    /// An empty list with room for `count` elements. `count` may come from data and be too large; then it fails.
    #[inline]
    pub fn with_room(count: usize) -> Result<List<T>, Failure> {
        let mut list = List::new();
        list.reserve(count)?;
        Ok(list)
    }

    /// Makes room for `more` elements.
    pub fn reserve(&mut self, more: usize) -> Result<(), Failure> {
        let needed = self.items.len().saturating_add(more);
        if needed <= self.items.capacity() {
            return Ok(());
        }
        let bytes = needed.saturating_mul(size_of::<T>());
        // While the elements are copied, both allocations exist.
        let charge = Charge::of(bytes)?;
        let refused =
            |_| Failure::new(format!("not enough memory: a list of {} is needed", counted(bytes, "byte")));
        self.items.try_reserve_exact(more).map_err(refused)?;
        self.charge = charge;
        Ok(())
    }

    /// Appends an element.
    pub fn push(&mut self, item: T) -> Result<(), Failure> {
        if self.items.len() == self.items.capacity() {
            self.reserve(self.items.len().max(MIN_CAPACITY))?;
        }
        look(self.items.len() + 1)?;
        self.items.push(item);
        Ok(())
    }

    /// Appends elements.
    pub fn extend(&mut self, items: impl IntoIterator<Item = T>) -> Result<(), Failure> {
        let items = items.into_iter();
        let (least, most) = items.size_hint();
        if self.items.capacity() - self.items.len() < least {
            self.reserve(least)?;
        }
        if most == Some(least) {
            self.items.extend(items.take(least));
            return Ok(());
        }
        for item in items {
            self.push(item)?;
        }
        Ok(())
    }

    /// Truncates the list, or extends it with copies of an element.
    #[inline]
    pub fn resize(&mut self, count: usize, with: T) -> Result<(), Failure>
    where
        T: Clone,
    {
        self.reserve(count.saturating_sub(self.items.len()))?;
        self.items.resize(count, with);
        Ok(())
    }

    /// Removes all elements and keeps the allocation.
    #[inline]
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Keeps the elements that satisfy a predicate.
    #[inline]
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.items.retain(keep);
    }

    /// Removes the element at an existing index.
    #[inline]
    pub fn remove(&mut self, at: usize) -> T {
        self.items.remove(at)
    }

    /// Inserts an element before an index, or at the end.
    pub fn insert(&mut self, at: usize, item: T) -> Result<(), Failure> {
        if self.items.len() == self.items.capacity() {
            self.reserve(self.items.len().max(MIN_CAPACITY))?;
        }
        self.items.insert(at, item);
        Ok(())
    }

    /// A copy of a slice.
    #[inline]
    pub fn copied(items: &[T]) -> Result<List<T>, Failure>
    where
        T: Clone,
    {
        let mut list = List::with_room(items.len())?;
        list.items.extend_from_slice(items);
        Ok(list)
    }

    /// Maps each element in place.
    #[inline]
    pub fn changed(mut self, change: impl Fn(T) -> T) -> List<T>
    where
        T: Copy,
    {
        self.items.iter_mut().for_each(|item| *item = change(*item));
        self
    }

    /// The elements and their charge.
    #[inline]
    pub fn into_parts(self) -> (Vec<T>, Charge) {
        (self.items, self.charge)
    }
}

/// The capacity after the first `push`.
const MIN_CAPACITY: usize = 4;

/// A list of `count` equal elements.
#[inline]
pub fn filled<T: Clone>(count: usize, with: T) -> Result<List<T>, Failure> {
    let mut list = List::with_room(count)?;
    list.items.resize(count, with);
    Ok(list)
}

impl<T: fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List::new()
    }
}

impl<T> From<Vec<T>> for List<T> {
    /// A list that is not charged to a budget.
    fn from(items: Vec<T>) -> Self {
        List { items, charge: Charge::none() }
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<T: PartialEq> PartialEq for List<T> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { items: self.items.into_iter(), _charge: self.charge }
    }
}

impl<'l, T> IntoIterator for &'l List<T> {
    type Item = &'l T;
    type IntoIter = slice::Iter<'l, T>;

    fn into_iter(self) -> slice::Iter<'l, T> {
        self.items.iter()
    }
}

impl<'l, T> IntoIterator for &'l mut List<T> {
    type Item = &'l mut T;
    type IntoIter = slice::IterMut<'l, T>;

    fn into_iter(self) -> slice::IterMut<'l, T> {
        self.items.iter_mut()
    }
}

/// An iterator that owns the elements of a [`List`], which stay charged until it is dropped.
#[derive(Debug)]
pub struct IntoIter<T> {
    items: vec::IntoIter<T>,
    _charge: Charge,
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.items.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<T> ExactSizeIterator for IntoIter<T> {}

/// Collects iterators into a [`List`].
pub trait Listed: Iterator + Sized {
    /// Collects the elements.
    fn listed(self) -> Result<List<Self::Item>, Failure> {
        let mut list = List::new();
        list.extend(self)?;
        Ok(list)
    }

    /// Collects the elements, or returns the first failure.
    fn try_listed<T>(self) -> Result<List<T>, Failure>
    where
        Self: Iterator<Item = Result<T, Failure>>,
    {
        let mut list = List::with_room(self.size_hint().0)?;
        for item in self {
            list.push(item?)?;
        }
        Ok(list)
    }
}

impl<I: Iterator> Listed for I {}

/// Strings that become a tensor; their heap memory is charged too.
#[derive(Debug)]
pub struct Strings {
    list: List<String>,
    heap: Charge,
    /// Bytes on the heap; `heap` charges at least as many.
    bytes: usize,
}

impl Strings {
    /// No strings, with room for `count`.
    #[inline]
    pub fn with_room(count: usize) -> Result<Strings, Failure> {
        Ok(Strings { list: List::with_room(count)?, heap: Charge::none(), bytes: 0 })
    }

    /// `count` empty strings.
    #[inline]
    pub fn empty(count: usize) -> Result<Strings, Failure> {
        Ok(Strings { list: filled(count, String::new())?, heap: Charge::none(), bytes: 0 })
    }

    /// A list of all the strings.
    pub fn all(strings: impl IntoIterator<Item = impl Into<String>>) -> Result<Strings, Failure> {
        let strings = strings.into_iter();
        let mut all = Strings::with_room(strings.size_hint().0)?;
        for string in strings {
            all.push(string.into())?;
        }
        Ok(all)
    }

    /// Appends a string after shrinking its allocation.
    #[inline]
    pub fn push(&mut self, mut string: String) -> Result<(), Failure> {
        string.shrink_to_fit();
        self.take(heap_of(string.len()))?;
        self.list.push(string)
    }

    /// Appends a copy, which is charged before it is allocated.
    #[inline]
    pub fn push_copy(&mut self, text: &str) -> Result<(), Failure> {
        self.take(heap_of(text.len()))?;
        self.list.push(text.to_owned())
    }

    /// Replaces a string with a copy.
    pub fn set(&mut self, at: usize, text: &str) -> Result<(), Failure> {
        self.take(heap_of(text.len()))?;
        let Some(place) = self.list.get_mut(at) else { fail!("a position lies outside of the tensor") };
        self.bytes -= heap_of(place.len()).min(self.bytes);
        *place = text.to_owned();
        Ok(())
    }

    /// The number of strings.
    #[inline]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    fn take(&mut self, more: usize) -> Result<(), Failure> {
        self.bytes = self.bytes.saturating_add(more);
        if self.bytes > self.heap.bytes() {
            // Charged ahead, because each charge costs time.
            let ahead = (self.bytes / 8).min(MAX_BYTES_AHEAD);
            if self.heap.set(self.bytes.saturating_add(ahead)).is_err() {
                self.heap.set(self.bytes)?;
            }
        }
        Ok(())
    }

    /// The strings and their charges.
    #[inline]
    pub fn into_parts(mut self) -> Result<(Vec<String>, [Charge; 2]), Failure> {
        self.heap.set(self.bytes)?;
        let (strings, charge) = self.list.into_parts();
        Ok((strings, [charge, self.heap]))
    }
}

/// The most bytes that are charged ahead.
const MAX_BYTES_AHEAD: usize = 1 << 16;

/// Heap bytes of a string of `length` bytes: allocators round up to units of 16 bytes and need a header.
#[inline]
pub fn heap_of(length: usize) -> usize {
    if length == 0 { 0 } else { length.saturating_add(8).next_multiple_of(16).max(32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use std::sync::Arc;

    #[test]
    fn what_a_list_takes_is_charged_until_it_is_dropped() {
        let budget = Arc::new(Budget::new(1000, 10, None));
        budget.enter(|| {
            let list = filled(100, 0u64).expect("800 of 1000");
            assert!(filled(100, 0u64).is_err());
            let mut elements = list.into_iter();
            elements.next();
            assert!(filled(100, 0u64).is_err(), "an iterator holds the list");
            drop(elements);
            assert!(filled(100, 0u64).is_ok());
        });
    }

    #[test]
    fn a_list_that_grows_ends_where_the_budget_does() {
        let budget = Arc::new(Budget::new(1000, 10, None));
        budget.enter(|| {
            let mut list = List::new();
            let pushed = (0..1000u64).take_while(|i| list.push(*i).is_ok()).count();
            // 64 elements take 512 bytes; growing to 128 needs both allocations and exceeds the budget.
            assert_eq!((pushed, list.len()), (64, 64));
            assert!((0..1000u64).filter(|i| i % 2 == 0).listed().is_err());
            assert!((0..4u64).map(|i| if i < 3 { Ok(i) } else { fail!("three") }).try_listed().is_err());
        });
        assert!(budget.peak() <= 1000);
    }

    #[test]
    fn strings_are_charged_with_their_bytes() {
        let budget = Arc::new(Budget::new(10_000, 10, None));
        budget.enter(|| {
            let mut strings = Strings::with_room(1).expect("one");
            assert!(strings.push_copy(&"x".repeat(20_000)).is_err());
            let mut strings = Strings::with_room(50).expect("1200 bytes");
            let pushed = (0..50).take_while(|_| strings.push("x".repeat(200)).is_ok()).count();
            assert!((35..45).contains(&pushed), "{pushed}");
        });
    }
}
