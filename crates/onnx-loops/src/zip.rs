//! Slices side by side in loops that vector registers compute.
//!
//! [`std::iter::zip`] sets its counter up in a function that is not marked `#[inline]`. In a crate of several units that is a call, unless
//! link-time optimization follows, and what an iterator over an array refers to must then be in memory: accumulators leave
//! their registers at each step, and a matrix product takes 14 times as long. Everything here is inlined always.

#![allow(unsafe_code, reason = "elements by index, of which there are so many in both slices")]

use std::marker::PhantomData;

/// The elements of two slices, arrays or other pairs side by side, as many as the shorter one has.
#[inline(always)]
pub(crate) fn zip<A: IntoElements, B: IntoElements>(a: A, b: B) -> Zip<A::Elements, B::Elements> {
    let (a, b) = (a.into_elements(), b.into_elements());
    let len = a.len().min(b.len());
    Zip { a, b, len }
}

/// A slice, an array, or elements of several.
pub(crate) trait IntoElements {
    /// Its elements.
    type Elements: Elements;

    /// Its elements.
    fn into_elements(self) -> Self::Elements;
}

/// Elements by index.
///
/// # Safety
/// For each index below `len`, `get` must be sound once.
pub(crate) unsafe trait Elements {
    /// A reference to an element, or several.
    type Item;

    /// The number of elements.
    fn len(&self) -> usize;

    /// An element.
    ///
    /// # Safety
    /// `at` is below `len`, and no earlier call had it.
    unsafe fn get(&self, at: usize) -> Self::Item;
}

/// The elements of a slice.
pub(crate) struct Shared<'s, T>(&'s [T]);

/// The elements of a slice that can be written: the first one, and their number.
pub(crate) struct Mutable<'s, T>(*mut T, usize, PhantomData<&'s mut [T]>);

/// The elements of two slices.
pub(crate) struct Zip<A, B> {
    a: A,
    b: B,
    /// At most the number of either.
    len: usize,
}

// SAFETY: an index below the length of the slice is within it.
unsafe impl<'s, T> Elements for Shared<'s, T> {
    type Item = &'s T;

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    unsafe fn get(&self, at: usize) -> &'s T {
        // SAFETY: the caller has compared `at` with the length of the slice.
        unsafe { self.0.get_unchecked(at) }
    }
}

// SAFETY: the slice is borrowed for `'s` by this alone, an index below its length is within it, and of each there is one reference.
unsafe impl<'s, T> Elements for Mutable<'s, T> {
    type Item = &'s mut T;

    #[inline(always)]
    fn len(&self) -> usize {
        self.1
    }

    #[inline(always)]
    unsafe fn get(&self, at: usize) -> &'s mut T {
        // SAFETY: the caller has compared `at` with the length of the slice, and asks for each element once.
        unsafe { &mut *self.0.add(at) }
    }
}

// SAFETY: an index below `len` is below the lengths of both, which get each index once.
unsafe impl<A: Elements, B: Elements> Elements for Zip<A, B> {
    type Item = (A::Item, B::Item);

    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    unsafe fn get(&self, at: usize) -> Self::Item {
        // SAFETY: the caller has compared `at` with `len`, which is at most the length of either, and asks for each pair once.
        unsafe { (self.a.get(at), self.b.get(at)) }
    }
}

impl<'s, T> IntoElements for &'s [T] {
    type Elements = Shared<'s, T>;

    #[inline(always)]
    fn into_elements(self) -> Shared<'s, T> {
        Shared(self)
    }
}

impl<'s, T, const N: usize> IntoElements for &'s [T; N] {
    type Elements = Shared<'s, T>;

    #[inline(always)]
    fn into_elements(self) -> Shared<'s, T> {
        Shared(self)
    }
}

impl<'s, T> IntoElements for &'s mut [T] {
    type Elements = Mutable<'s, T>;

    #[inline(always)]
    fn into_elements(self) -> Mutable<'s, T> {
        Mutable(self.as_mut_ptr(), self.len(), PhantomData)
    }
}

impl<'s, T, const N: usize> IntoElements for &'s mut [T; N] {
    type Elements = Mutable<'s, T>;

    #[inline(always)]
    fn into_elements(self) -> Mutable<'s, T> {
        Mutable(self.as_mut_ptr(), N, PhantomData)
    }
}

impl<A: Elements, B: Elements> IntoElements for Zip<A, B> {
    type Elements = Self;

    #[inline(always)]
    fn into_elements(self) -> Self {
        self
    }
}

impl<A: Elements, B: Elements> IntoIterator for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type IntoIter = Iter<Self>;

    #[inline(always)]
    fn into_iter(self) -> Iter<Self> {
        let len = self.len;
        Iter { of: self, at: 0, len }
    }
}

impl<A: Elements, B: Elements> Zip<A, B> {
    /// Calls a function with each pair.
    #[inline(always)]
    pub(crate) fn for_each(self, mut f: impl FnMut((A::Item, B::Item))) {
        for pair in self {
            f(pair);
        }
    }
}

/// An iterator over elements, of which `at` is the next one.
pub(crate) struct Iter<E> {
    of: E,
    at: usize,
    /// Their number.
    len: usize,
}

impl<E: Elements> Iterator for Iter<E> {
    type Item = E::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<E::Item> {
        let at = self.at;
        if at >= self.len {
            return None;
        }
        self.at = at + 1;
        // SAFETY: `at` is below the length, and every later one is greater.
        Some(unsafe { self.of.get(at) })
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.len - self.at;
        (left, Some(left))
    }
}

#[cfg(test)]
mod tests {
    use super::zip;

    #[test]
    fn pairs_are_as_many_as_the_shortest_has() {
        let (mut out, a, b) = (vec![0; 5], [1, 2, 3, 4], [10, 20, 30]);
        for ((out, a), b) in zip(zip(&mut out[..], &a), &b[..]) {
            *out = a + b;
        }
        assert_eq!(out, [11, 22, 33, 0, 0]);
        zip(&mut out[3..], &[7; 9]).for_each(|(out, x)| *out = *x);
        assert_eq!(out, [11, 22, 33, 7, 7]);
        assert_eq!(zip(&a, &b[..0]).into_iter().size_hint(), (0, Some(0)));
        let mut pairs = zip(&a, &b).into_iter();
        assert_eq!((pairs.next(), pairs.size_hint()), (Some((&1, &10)), (2, Some(2))));
        assert_eq!(pairs.last(), Some((&3, &30)));
    }
}
