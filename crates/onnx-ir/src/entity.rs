//! Typed ids and the maps they index.
//!
//! An id is a small number that its arena assigns; `Option<Id>` has the same size. [`PrimaryMap`] owns entities and assigns their
//! ids, [`SecondaryMap`] adds facts about them with a default for unknown ids. Nothing else makes ids, so an id in hand is that of
//! an entity:
//!
//! ```
//! use onnx_ir::{NodeId, PrimaryMap, SecondaryMap};
//!
//! let mut nodes = PrimaryMap::<NodeId, &str>::new();
//! let relu = nodes.push("Relu");
//! let mut costs = SecondaryMap::default();
//! costs[relu] = 12;
//! assert_eq!((nodes[relu], nodes.id_at(0), nodes.id_at(1)), ("Relu", Some(relu), None));
//! ```
//!
//! ```compile_fail
//! use onnx_ir::{EntityId, NodeId};
//! let node = NodeId::from_index(3); // of which body?
//! ```

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An index with a type: see [`entity!`](crate::entity!).
pub trait EntityId: Copy + Eq + Ord + fmt::Debug + fmt::Display {
    /// The id of the entity at `index`, for arenas.
    ///
    /// # Panics
    /// At 2^32 - 1 entities: an arena that large does not fit the ids.
    #[doc(hidden)]
    fn assigned(index: usize, by: Arena) -> Self;
    /// The position in the arena.
    fn index(self) -> usize;
}

/// The right to make ids. Only this crate can make one.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Arena(());

/// Ids from positions, for the arenas of this crate.
pub(crate) trait FromIndex: EntityId {
    /// The id of the entity at `index`.
    #[inline]
    fn from_index(index: usize) -> Self {
        Self::assigned(index, Arena(()))
    }
}

impl<K: EntityId> FromIndex for K {}

/// Declares an id newtype: `entity!(/** A node. */ NodeId, "n");` prints as `n12`.
#[macro_export]
macro_rules! entity {
    ($(#[$meta:meta])* $name:ident, $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::num::NonZeroU32);
        impl $crate::EntityId for $name {
            #[inline]
            fn assigned(index: usize, _: $crate::Arena) -> Self {
                let raw = u32::try_from(index).ok().and_then(|i| i.checked_add(1));
                Self(raw.and_then(std::num::NonZeroU32::new).expect("an arena holds fewer than 2^32 - 1 entities"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), $crate::EntityId::index(*self))
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

/// Owns entities of one kind; [`PrimaryMap::push`] creates their ids.
#[derive(Clone, PartialEq)]
pub struct PrimaryMap<K, V> {
    items: Vec<V>,
    key: PhantomData<K>,
}

impl<K: EntityId, V> PrimaryMap<K, V> {
    /// An empty arena.
    pub const fn new() -> Self {
        Self { items: Vec::new(), key: PhantomData }
    }

    /// Adds an entity and returns its id.
    #[inline]
    pub fn push(&mut self, value: V) -> K {
        let id = K::from_index(self.items.len());
        self.items.push(value);
        id
    }

    /// Adds an entity that is constructed in place. [`push`](Self::push) constructs it elsewhere and copies it; with many
    /// additions, reading what was just written stalls.
    #[inline]
    pub(crate) fn push_with(&mut self, make: impl Fn() -> V) -> K {
        let id = K::from_index(self.items.len());
        self.items.extend((0..1).map(|_| make()));
        id
    }

    /// The id that the next [`push`](Self::push) will return.
    #[inline]
    pub fn next_id(&self) -> K {
        K::from_index(self.items.len())
    }

    /// The id of the entity at a position, if there is one.
    #[inline]
    pub fn id_at(&self, index: usize) -> Option<K> {
        (index < self.items.len()).then(|| K::from_index(index))
    }

    /// The entity, if the id is in range.
    #[inline]
    pub fn get(&self, id: K) -> Option<&V> {
        self.items.get(id.index())
    }

    /// Shrinks the capacity.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.items.shrink_to_fit();
    }

    /// The number of entities.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All ids in order of creation.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + use<K, V> {
        (0..self.items.len()).map(K::from_index)
    }

    /// All entities with their ids, in order of creation.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> + ExactSizeIterator {
        self.items.iter().enumerate().map(|(i, v)| (K::from_index(i), v))
    }

    /// All entities in order of creation.
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.items.iter()
    }

    /// All entities in order of creation, to change.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.items.iter_mut()
    }

    /// All entities in order of creation, without their ids.
    pub fn into_values(self) -> std::vec::IntoIter<V> {
        self.items.into_iter()
    }

    /// Makes room for `additional` more entities.
    pub fn reserve(&mut self, additional: usize) {
        self.items.reserve(additional);
    }
}

impl<K: EntityId, V> Default for PrimaryMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: EntityId, V: fmt::Debug> fmt::Debug for PrimaryMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: EntityId, V> Index<K> for PrimaryMap<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, id: K) -> &V {
        &self.items[id.index()]
    }
}

impl<K: EntityId, V> IndexMut<K> for PrimaryMap<K, V> {
    #[inline]
    fn index_mut(&mut self, id: K) -> &mut V {
        &mut self.items[id.index()]
    }
}

/// Facts about entities of another map. An id without a fact has the default.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondaryMap<K, V> {
    items: Vec<V>,
    default: V,
    key: PhantomData<K>,
}

impl<K, V> SecondaryMap<K, V> {
    /// Whether nothing has a fact.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<K: EntityId, V: Clone> SecondaryMap<K, V> {
    /// An empty map that answers `default`.
    pub fn with_default(default: V) -> Self {
        Self { items: Vec::new(), default, key: PhantomData }
    }

    /// Like [`with_default`](Self::with_default), with room for `len` entities at once.
    pub fn with_len(default: V, len: usize) -> Self {
        Self { items: vec![default.clone(); len], default, key: PhantomData }
    }

    /// Makes room for the facts of `additional` more entities.
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.items.reserve(additional);
    }

    /// Shrinks the capacity.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.items.shrink_to_fit();
    }

    /// Forgets all facts, keeps the room.
    pub fn clear(&mut self) {
        self.items.clear();
    }
}

impl<K: EntityId, V: Clone + Default> Default for SecondaryMap<K, V> {
    fn default() -> Self {
        Self::with_default(V::default())
    }
}

impl<K: EntityId, V> Index<K> for SecondaryMap<K, V> {
    type Output = V;
    #[inline]
    fn index(&self, id: K) -> &V {
        self.items.get(id.index()).unwrap_or(&self.default)
    }
}

impl<K: EntityId, V: Clone> IndexMut<K> for SecondaryMap<K, V> {
    #[inline]
    fn index_mut(&mut self, id: K) -> &mut V {
        if id.index() >= self.items.len() {
            self.items.resize(id.index() + 1, self.default.clone());
        }
        &mut self.items[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::entity!(
        #[allow(unreachable_pub, reason = "the macro declares ids of a public API")]
        ThingId,
        "t"
    );

    #[test]
    fn an_optional_id_costs_nothing() {
        assert_eq!(size_of::<Option<ThingId>>(), 4);
    }

    #[test]
    fn ids_print_with_their_prefix_and_index_their_map() {
        let mut things = PrimaryMap::new();
        let (a, b): (ThingId, ThingId) = (things.push('a'), things.push('b'));
        assert_eq!((things[a], things[b], b.to_string()), ('a', 'b', "t1".to_owned()));
        let mut marks = SecondaryMap::<ThingId, bool>::default();
        marks[b] = true;
        assert_eq!((marks[a], marks[b], marks[ThingId::from_index(9)]), (false, true, false));
    }
}
