//! Operators in words: `Conv`, `Conv@11`, `ai.onnx.ml.Scaler`.

use super::{NotFound, domain_text};
use onnx_ir::diag::did_you_mean;
use onnx_ir::normalize_domain;
use onnx_ops::schema::{Lookup, Registry, SchemaId};

/// A parsed operator name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec<'a> {
    /// `None`: any, ai.onnx first.
    pub domain: Option<&'a str>,
    /// The name.
    pub name: &'a str,
    /// The version of the domain, not of the operator.
    pub version: Option<i64>,
}

/// An operator that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operator<'r> {
    /// Its domain; `""` is ai.onnx.
    pub domain: &'r str,
    /// Its name.
    pub name: &'r str,
    /// The requested version.
    pub asked: Option<SchemaId>,
}

impl<'a> Spec<'a> {
    /// Parses an operator in words.
    ///
    /// # Errors
    ///
    /// The version is not a number.
    pub fn parse(text: &'a str) -> Result<Spec<'a>, NotFound> {
        let (path, version) = match text.split_once('@') {
            None => (text, None),
            Some((path, version)) => {
                let invalid = || NotFound(format!("invalid version `{version}` of a domain"));
                let number = version.parse().ok().ok_or_else(invalid)?;
                (path, Some(number))
            }
        };
        Ok(match path.rsplit_once('.') {
            None => Spec { domain: None, name: path, version },
            Some((domain, name)) => Spec { domain: Some(domain), name, version },
        })
    }

    /// Finds the operator.
    ///
    /// # Errors
    ///
    /// There is none of this name, or not in this version; with a suggestion.
    pub fn find<'r>(&self, registry: &'r Registry) -> Result<Operator<'r>, NotFound> {
        let found = self.lookup(registry);
        let Some((domain, name)) = found else {
            let near = did_you_mean(self.name, self.domains(registry).flat_map(|d| registry.operators(d)));
            let help = near.map_or("; `onnxtxt ops` lists all operators".to_owned(), |near| {
                format!("; did you mean `{near}`?")
            });
            return match self.domain.filter(|domain| registry.newest_version(domain).is_none()) {
                Some(domain) => Err(NotFound(format!("unknown domain `{domain}`"))),
                None => Err(NotFound(format!("unknown operator `{}`{help}", self.name))),
            };
        };
        if let Some(version) = self.version {
            ensure_released(registry, domain, version)?;
        }
        let asked = match self.version.map(|version| (version, registry.lookup(domain, name, version))) {
            None => None,
            Some((_, Lookup::Found(id))) => Some(id),
            Some((version, Lookup::TooNew { since })) => {
                let domain = domain_text(domain);
                let why =
                    format!("`{name}` exists since version {since} of {domain}, not in version {version}");
                return Err(NotFound(why));
            }
            Some((_, Lookup::UnknownOperator | Lookup::UnknownDomain)) => None,
        };
        Ok(Operator { domain, name, asked })
    }

    /// Whether there is such an operator, in any version.
    pub fn is_operator(&self, registry: &Registry) -> bool {
        self.lookup(registry).is_some()
    }

    fn lookup<'r>(&self, registry: &'r Registry) -> Option<(&'r str, &'r str)> {
        self.domains(registry).find_map(|domain| {
            let name = registry.operators(domain).find(|name| *name == self.name)?;
            Some((domain, name))
        })
    }

    fn domains<'r>(&self, registry: &'r Registry) -> impl Iterator<Item = &'r str> {
        let requested = self.domain.map(normalize_domain);
        registry.domains().filter(move |domain| requested.is_none_or(|requested| requested == *domain))
    }
}

/// Fails for an unknown version of a domain: less than 1, or newer than the newest.
pub(super) fn ensure_released(registry: &Registry, domain: &str, version: i64) -> Result<(), NotFound> {
    let newest = registry.newest_version(domain).map(i64::from);
    match newest.filter(|newest| !(1..=*newest).contains(&version)) {
        Some(newest) => {
            let domain = domain_text(domain);
            Err(NotFound(format!("{domain} has no version {version}: its versions are 1 to {newest}")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_named_with_and_without_domain_and_version() {
        let parse = |text| Spec::parse(text).expect("an operator");
        assert_eq!(parse("Conv"), Spec { domain: None, name: "Conv", version: None });
        assert_eq!(parse("Conv@11"), Spec { domain: None, name: "Conv", version: Some(11) });
        let scaler = Spec { domain: Some("ai.onnx.ml"), name: "Scaler", version: None };
        assert_eq!(parse("ai.onnx.ml.Scaler"), scaler);
        assert!(Spec::parse("Conv@x").is_err());
    }

    #[test]
    fn what_is_not_found_says_what_is_near() {
        let registry = Registry::builtin();
        let find =
            |text| Spec::parse(text).expect("an operator").find(registry).map_err(|error| error.to_string());
        let operator = find("Scaler@1").expect("an operator");
        assert_eq!((operator.domain, operator.name), ("ai.onnx.ml", "Scaler"));
        assert_eq!(find("Convv"), Err("unknown operator `Convv`; did you mean `Conv`?".to_owned()));
        assert_eq!(find("nowhere.Conv"), Err("unknown domain `nowhere`".to_owned()));
        let too_new = "`Gelu` exists since version 20 of ai.onnx, not in version 19";
        assert_eq!(find("Gelu@19"), Err(too_new.to_owned()));
        for (text, version) in [("Conv@99", "99"), ("Conv@0", "0"), ("Conv@-1", "-1")] {
            let unknown = format!("ai.onnx has no version {version}: its versions are 1 to 28");
            assert_eq!(find(text), Err(unknown));
        }
    }
}
