//! Finds the schema of a node by domain, operator and imported version.

use super::set::{FunctionBody, LoadedSet};
use super::{Schema, docs, table};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use onnx_ir::normalize_domain;
use onnx_ir::releases::newest_version;
use std::hash::BuildHasher as _;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// A schema of a [`Registry`]. Ids of built-in schemas are the same in every registry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SchemaId(u32);

impl SchemaId {
    /// The position in the registry.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The result of a lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    /// The applicable schema.
    Found(SchemaId),
    /// The operator exists, but only since a later version.
    TooNew {
        /// The first version with the operator.
        since: u32,
    },
    /// The domain is known and has no such operator.
    UnknownOperator,
    /// The domain has no schemas, or the operator is known by name only.
    UnknownDomain,
}

/// The built-in schemas and those that were loaded. `""` and `ai.onnx` are one domain.
///
/// ```
/// use onnx_ops::schema::{Lookup, Registry};
///
/// let registry = Registry::builtin();
/// let Lookup::Found(id) = registry.lookup("", "Relu", 21) else { panic!("no Relu") };
/// assert_eq!(registry.get(id).since, 14); // the newest version that is not newer than 21
/// assert_eq!(registry.lookup("", "Gelu", 13), Lookup::TooNew { since: 20 });
/// ```
#[derive(Clone, Debug)]
pub struct Registry {
    /// Loaded schemas; their ids follow those of the built-in ones.
    extra: Vec<Extra>,
    /// Domain and name of operators that are known by name only.
    unsigned: Vec<(String, String)>,
    /// Domains with the version of the document that describes them as a whole.
    bounds: Vec<(String, i64)>,
    /// All schemas, by domain, name and `since`.
    ids: Vec<SchemaId>,
    /// Every operator, by domain and name.
    operators: Vec<Operator>,
    /// Every domain, by name.
    domains: Vec<Domain>,
    /// Positions in `operators`, by the hash of domain and name.
    table: HashTable<u32>,
    hasher: RandomState,
}

/// A loaded schema, with other contents of its document.
#[derive(Clone, Debug)]
struct Extra {
    schema: Schema,
    body: Option<FunctionBody>,
    doc: Option<String>,
}

/// A range of `ids`, and the position of its domain in `domains`.
#[derive(Clone, Debug)]
struct Operator {
    domain: u32,
    versions: Range<usize>,
}

/// A range of `operators`.
#[derive(Clone, Debug)]
struct Domain {
    operators: Range<usize>,
    newest: u32,
}

impl Registry {
    /// The built-in schemas alone.
    pub fn builtin() -> &'static Registry {
        static BUILTIN: LazyLock<Registry> = LazyLock::new(|| Registry::with(Vec::new()));
        &BUILTIN
    }

    /// The built-in schemas and these. A schema replaces another one of the same domain, name and `since`, also a built-in one.
    pub fn with(extra: Vec<Schema>) -> Registry {
        let bare = |schema| Extra { schema, body: None, doc: None };
        Registry::of(extra.into_iter().map(bare).collect())
    }

    /// The built-in schemas and those of operator sets, with the functions that define them. For operators with equal domain,
    /// name and `since`, the last one wins.
    pub fn with_sets<'s>(sets: impl IntoIterator<Item = &'s LoadedSet>) -> Registry {
        let (mut extra, mut unsigned, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
        for set in sets {
            // Documents add to the built-in domains.
            bounds.extend(set.version.clone().filter(|(domain, _)| newest_version(domain).is_none()));
            unsigned.extend_from_slice(&set.unsigned);
            let parts = set.schemas.iter().zip(&set.bodies).zip(&set.docs);
            extra.extend(parts.map(|((schema, body), doc)| Extra {
                schema: schema.clone(),
                body: body.map(|id| FunctionBody { model: Arc::clone(&set.model), id }),
                doc: doc.clone(),
            }));
        }
        Registry { unsigned, bounds, ..Registry::of(extra) }
    }

    fn of(extra: Vec<Extra>) -> Registry {
        let count = small(table::SCHEMAS.len() + extra.len());
        let mut registry = Registry {
            extra,
            unsigned: Vec::new(),
            bounds: Vec::new(),
            ids: (0..count).map(SchemaId).collect(),
            operators: Vec::new(),
            domains: Vec::new(),
            table: HashTable::new(),
            hasher: RandomState::default(),
        };
        registry.sort();
        registry.index();
        registry
    }

    fn sort(&mut self) {
        if self.extra.is_empty() {
            return; // the table is sorted
        }
        let mut ids = std::mem::take(&mut self.ids);
        let key = |id: &SchemaId| {
            let schema = self.get(*id);
            (normalize_domain(&schema.domain), &*schema.name, schema.since)
        };
        ids.sort_by(|a, b| key(a).cmp(&key(b)).then(b.cmp(a))); // the last of equals comes first and stays
        ids.dedup_by(|b, a| key(a) == key(b));
        self.ids = ids;
    }

    fn index(&mut self) {
        let (mut operators, mut domains) = (Vec::<Operator>::new(), Vec::<Domain>::new());
        for (at, &id) in self.ids.iter().enumerate() {
            let schema = self.get(id);
            let last = operators.last().map(|o| self.get(self.ids[o.versions.start]));
            let same_domain = last.is_some_and(|s| is_same_domain(&s.domain, &schema.domain));
            if !same_domain {
                domains.push(Domain { operators: operators.len()..operators.len(), newest: 0 });
            }
            if !same_domain || last.is_none_or(|s| s.name != schema.name) {
                operators.push(Operator { domain: small(domains.len() - 1), versions: at..at });
            }
            if let (Some(operator), Some(domain)) = (operators.last_mut(), domains.last_mut()) {
                operator.versions.end = at + 1;
                domain.operators.end = operators.len();
                domain.newest = domain.newest.max(schema.since);
            }
        }
        self.operators = operators;
        self.domains = domains;
        let mut table = HashTable::with_capacity(self.operators.len());
        for at in 0..small(self.operators.len()) {
            let hash = |&at: &u32| self.hash(self.operators[at as usize].domain, self.name_of(at as usize));
            table.insert_unique(hash(&at), at, hash);
        }
        self.table = table;
    }

    /// The schema of an id of this registry.
    ///
    /// # Panics
    /// If the id belongs to another registry, and this one has fewer schemas.
    pub fn get(&self, id: SchemaId) -> &Schema {
        let at = id.0 as usize;
        table::SCHEMAS.get(at).unwrap_or_else(|| &self.extra[at - table::SCHEMAS.len()].schema)
    }

    /// The function that defines a loaded schema, if its document has one.
    pub fn body(&self, id: SchemaId) -> Option<&FunctionBody> {
        self.extra(id)?.body.as_ref()
    }

    /// The description of a schema.
    pub fn summary(&self, id: SchemaId) -> Option<&str> {
        match self.extra(id) {
            Some(extra) => extra.doc.as_deref(),
            None => docs::summary(&self.get(id).domain, &self.get(id).name),
        }
    }

    fn extra(&self, id: SchemaId) -> Option<&Extra> {
        self.extra.get((id.0 as usize).checked_sub(table::SCHEMAS.len())?)
    }

    /// The applicable schema of an operator if its domain is imported in `version`.
    pub fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup {
        let versions = self.versions(domain, name);
        let Some(&first) = versions.first() else {
            let is_named = |(of, named): &(String, String)| is_same_domain(of, domain) && named == name;
            let is_known = self.newest_version(domain).is_some() && !self.unsigned.iter().any(is_named);
            return if is_known { Lookup::UnknownOperator } else { Lookup::UnknownDomain };
        };
        match versions.iter().rev().find(|id| i64::from(self.get(**id).since) <= version) {
            Some(&id) => Lookup::Found(id),
            None => Lookup::TooNew { since: self.get(first).since },
        }
    }

    /// Every version of an operator, the oldest first; empty if there is none.
    pub fn versions(&self, domain: &str, name: &str) -> &[SchemaId] {
        let Some(domain) = self.domain(domain) else { return &[] };
        let is_it =
            |at: &u32| self.operators[*at as usize].domain == domain && self.name_of(*at as usize) == name;
        let found = self.table.find(self.hash(domain, name), is_it);
        found.map_or(&[], |at| &self.ids[self.operators[*at as usize].versions.clone()])
    }

    /// Every domain, sorted; ai.onnx is `""`.
    pub fn domains(&self) -> impl Iterator<Item = &str> {
        self.domains.iter().map(|domain| self.domain_of(domain))
    }

    /// The names of the operators of a domain, sorted.
    pub fn operators(&self, domain: &str) -> impl Iterator<Item = &str> {
        let operators = self.domain(domain).map_or(0..0, |at| self.domains[at as usize].operators.clone());
        operators.map(|at| self.name_of(at))
    }

    /// The newest version of a domain: the last one that added an operator.
    pub fn newest_version(&self, domain: &str) -> Option<u32> {
        self.domain(domain).map(|at| self.domains[at as usize].newest)
    }

    /// The version of a domain that documents describe, if they describe all that there are.
    pub fn last_version(&self, domain: &str) -> Option<i64> {
        let of_domain = self.bounds.iter().filter(|(of, _)| is_same_domain(of, domain));
        of_domain.map(|(_, version)| *version).max()
    }

    /// The position of a domain.
    fn domain(&self, wanted: &str) -> Option<u32> {
        self.domains.iter().position(|domain| is_same_domain(self.domain_of(domain), wanted)).map(small)
    }

    fn domain_of(&self, domain: &Domain) -> &str {
        normalize_domain(&self.schema_of(domain.operators.start).domain)
    }

    fn name_of(&self, operator: usize) -> &str {
        &self.schema_of(operator).name
    }

    /// The first version of an operator.
    fn schema_of(&self, operator: usize) -> &Schema {
        self.get(self.ids[self.operators[operator].versions.start])
    }

    fn hash(&self, domain: u32, name: &str) -> u64 {
        self.hasher.hash_one((domain, name))
    }
}

fn is_same_domain(a: &str, b: &str) -> bool {
    let (a, b) = (normalize_domain(a), normalize_domain(b));
    // Some processors compare empty slices more slowly than many bytes.
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// There are fewer schemas than 2^32, and so of everything else here.
fn small(at: usize) -> u32 {
    u32::try_from(at).expect("schemas are fewer than 2^32")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::BodyKind;
    use std::borrow::Cow::{Borrowed, Owned};

    fn loaded(domain: &str, name: &str, since: u32) -> Schema {
        Schema {
            domain: Owned(domain.to_owned()),
            name: Owned(name.to_owned()),
            since,
            inputs: Borrowed(&[]),
            outputs: Borrowed(&[]),
            attrs: Borrowed(&[]),
            variables: Borrowed(&[]),
            input_counts: Borrowed(&[]),
            output_counts: Borrowed(&[]),
            deprecated: false,
            experimental: false,
            random: false,
            body: BodyKind::None,
        }
    }

    fn since(registry: &Registry, found: Lookup) -> Option<u32> {
        match found {
            Lookup::Found(id) => Some(registry.get(id).since),
            Lookup::TooNew { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => None,
        }
    }

    #[test]
    fn the_version_in_force_is_the_newest_that_is_not_too_new() {
        let registry = Registry::builtin();
        for domain in ["", "ai.onnx"] {
            assert_eq!(since(registry, registry.lookup(domain, "Add", 8)), Some(7));
            assert_eq!(since(registry, registry.lookup(domain, "Add", i64::MAX)), Some(14));
        }
        assert_eq!(registry.lookup("", "Gelu", 19), Lookup::TooNew { since: 20 });
        assert_eq!(registry.lookup("", "Gelu", i64::MIN), Lookup::TooNew { since: 20 });
        assert_eq!(registry.lookup("", "gelu", 20), Lookup::UnknownOperator);
        assert_eq!(registry.lookup("Add", "", 20), Lookup::UnknownDomain);
        assert!(registry.versions("", "gelu").is_empty());
        assert_eq!(registry.operators("nowhere").count(), 0);
    }

    #[test]
    fn loaded_schemas_stand_beside_and_in_for_built_in_ones() {
        let twice = loaded("ai.onnx", "Add", 7);
        let registry = Registry::with(vec![
            loaded("org.mine", "Mine", 3),
            twice.clone(),
            loaded("", "Add", 30),
            loaded("org.mine", "Also", 1),
            Schema { random: true, ..twice },
        ]);
        assert_eq!(since(&registry, registry.lookup("org.mine", "Mine", 4)), Some(3));
        assert_eq!(registry.lookup("org.mine", "Mine", 2), Lookup::TooNew { since: 3 });
        assert_eq!(registry.operators("org.mine").collect::<Vec<_>>(), ["Also", "Mine"]);
        assert_eq!(registry.newest_version("org.mine"), Some(3));
        assert_eq!(registry.newest_version("ai.onnx"), Some(30));
        let adds: Vec<_> = registry.versions("", "Add").iter().map(|id| registry.get(*id)).collect();
        assert_eq!(adds.iter().map(|s| s.since).collect::<Vec<_>>(), [1, 6, 7, 13, 14, 30]);
        assert!(adds[2].random && adds[2].inputs.is_empty(), "the last of equals is in force");
        // Built-in schemas keep their ids.
        let builtin = Registry::builtin();
        assert_eq!(registry.versions("", "Sub"), builtin.versions("", "Sub"));
        assert_eq!(builtin.domains().count() + 1, registry.domains().count());
    }
}
