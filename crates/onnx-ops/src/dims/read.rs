//! The syntax of expressions; `grammar/dimensions.md` has it for people. What it means is [`parse`](super::parse)'s.

use std::borrow::Cow;

/// An expression as it is written.
#[derive(Debug, PartialEq)]
pub(super) enum Tree<'a> {
    /// A decimal number: `1.5` is 15 over 10.
    Number(i64, i64),
    Name(Cow<'a, str>),
    Sum(Vec<(Sign, Tree<'a>)>),
    Product(Vec<(Link, Tree<'a>)>),
    Power(Box<Tree<'a>>, u32),
    Call(Call, Vec<Tree<'a>>),
}

/// How a summand is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    Plus,
    Minus,
}

/// How a factor is joined to what is before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Link {
    Times,
    Over,
    FloorOver,
    Mod,
}

/// A function by what it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Call {
    Floor,
    Ceil,
    Same,
    Abs,
    Over,
    FloorDiv,
    CeilDiv,
    Mod,
    ModularIndexing,
    Max,
    Min,
    Broadcast,
}

/// Names of functions in lower case, what they do, and how many arguments they take at least and at most. Beside our
/// own and those of Python there are those that sympy and PyTorch print.
const CALLS: &[(&str, Call, usize, usize)] = &[
    ("floor", Call::Floor, 1, 1),
    ("floortoint", Call::Floor, 1, 1),
    ("ceil", Call::Ceil, 1, 1),
    ("ceiling", Call::Ceil, 1, 1),
    ("ceiltoint", Call::Ceil, 1, 1),
    ("tofloat", Call::Same, 1, 1),
    ("identity", Call::Same, 1, 1),
    ("abs", Call::Abs, 1, 1),
    ("truediv", Call::Over, 2, 2),
    ("inttruediv", Call::Over, 2, 2),
    ("floattruediv", Call::Over, 2, 2),
    ("floordiv", Call::FloorDiv, 2, 2),
    ("cleandiv", Call::FloorDiv, 2, 2),
    ("ceildiv", Call::CeilDiv, 2, 2),
    ("mod", Call::Mod, 2, 2),
    ("pythonmod", Call::Mod, 2, 2),
    ("modularindexing", Call::ModularIndexing, 3, 3),
    ("max", Call::Max, 1, usize::MAX),
    ("min", Call::Min, 1, usize::MAX),
    ("broadcast", Call::Broadcast, 1, usize::MAX),
];

/// Deeper expressions are names: the stack would not hold them.
const MAX_DEPTH: u32 = 64;
/// Longer expressions are names: calculating with them would take long, for a result that is too large.
const MAX_TOKENS: u32 = 4096;
/// `N**16` is the highest power.
const MAX_POWER: u32 = 16;

/// The expression that a text is as a whole.
pub(super) fn read(text: &str) -> Option<Tree<'_>> {
    if is_joined_name(text) {
        return Some(Tree::Name(text.into()));
    }
    let mut reader = Reader { rest: text, tokens: 0, depth: 0 };
    let tree = reader.sum()?;
    reader.rest.trim_start().is_empty().then_some(tree)
}

/// Whether a text stands for nothing that is known.
pub(super) fn is_unknown(text: &str) -> bool {
    matches!(text.trim(), "" | "?")
}

/// Whether a text is a name without quotes: `N`, `batch_size`, `encoder.length`.
pub(super) fn is_identifier(text: &str) -> bool {
    !text.is_empty() && identifier(text) == text.len()
}

/// Whether a text is identifiers and numbers joined by `-` and `/` with no blanks, at least two identifiers in a row:
/// `batch-size` is a name, `N-1` and `N - M` are not.
pub(super) fn is_joined_name(text: &str) -> bool {
    let mut before = None;
    let mut joins = false;
    for part in text.split(['-', '/']) {
        let is_name = is_identifier(part);
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_name && (!is_number || before.is_none()) {
            return false;
        }
        joins |= is_name && before == Some(true);
        before = Some(is_name);
    }
    joins
}

/// How many bytes at the start of a text are an identifier.
fn identifier(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return 0;
    }
    text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(text.len())
}

struct Reader<'a> {
    rest: &'a str,
    tokens: u32,
    depth: u32,
}

impl<'a> Reader<'a> {
    /// Whether these characters come next, which are then behind.
    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start();
        let Some(rest) = rest.strip_prefix(token) else { return false };
        self.rest = rest;
        self.tokens += 1;
        true
    }

    /// `product { ("+" | "-") product }`
    fn sum(&mut self) -> Option<Tree<'a>> {
        let mut terms = vec![(Sign::Plus, self.product()?)];
        loop {
            let sign = if self.take("+") {
                Sign::Plus
            } else if self.take("-") {
                Sign::Minus
            } else if terms.len() == 1 {
                return terms.pop().map(|(_, tree)| tree);
            } else {
                return Some(Tree::Sum(terms));
            };
            terms.push((sign, self.product()?));
        }
    }

    /// `factor { ("*" | "/" | "//" | "%") factor }`
    fn product(&mut self) -> Option<Tree<'a>> {
        let mut factors = vec![(Link::Times, self.factor()?)];
        loop {
            let link = if self.take("*") {
                Link::Times
            } else if self.take("//") {
                Link::FloorOver
            } else if self.take("/") {
                Link::Over
            } else if self.take("%") {
                Link::Mod
            } else if factors.len() == 1 {
                return factors.pop().map(|(_, tree)| tree);
            } else {
                return Some(Tree::Product(factors));
            };
            factors.push((link, self.factor()?));
        }
    }

    /// `{ "+" | "-" } primary [ "**" number ]`
    fn factor(&mut self) -> Option<Tree<'a>> {
        let mut sign = Sign::Plus;
        while self.tokens < MAX_TOKENS {
            if self.take("-") {
                sign = if sign == Sign::Plus { Sign::Minus } else { Sign::Plus };
            } else if !self.take("+") {
                break;
            }
        }
        let mut tree = self.primary()?;
        if self.take("**") {
            tree = Tree::Power(Box::new(tree), self.exponent()?);
        }
        Some(if sign == Sign::Plus { tree } else { Tree::Sum(vec![(sign, tree)]) })
    }

    /// `number | name | "'" … "'" | name "(" sum { "," sum } ")" | "(" sum ")"`
    fn primary(&mut self) -> Option<Tree<'a>> {
        self.tokens += 1;
        if self.tokens > MAX_TOKENS {
            return None;
        }
        if self.take("(") {
            let tree = self.deeper()?;
            return self.take(")").then_some(tree);
        }
        if self.take("'") {
            return self.quoted();
        }
        self.rest = self.rest.trim_start();
        let (name, rest) = self.rest.split_at(identifier(self.rest));
        if name.is_empty() {
            return self.number();
        }
        self.rest = rest;
        if self.take("(") { self.call(name) } else { Some(Tree::Name(name.into())) }
    }

    fn deeper(&mut self) -> Option<Tree<'a>> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let tree = self.sum();
        self.depth -= 1;
        tree
    }

    fn call(&mut self, name: &str) -> Option<Tree<'a>> {
        let name = name.to_ascii_lowercase();
        let is_power = matches!(&*name, "pow" | "powbynatural");
        let mut args = vec![self.deeper()?];
        if is_power {
            let power = self.take(",").then(|| self.exponent())??;
            return self.take(")").then_some(Tree::Power(Box::new(args.pop()?), power));
        }
        while self.take(",") {
            args.push(self.deeper()?);
        }
        let &(_, call, least, most) = CALLS.iter().find(|(known, ..)| *known == name)?;
        (self.take(")") && (least..=most).contains(&args.len())).then_some(Tree::Call(call, args))
    }

    /// The rest of a name in quotes; two quotes inside are one.
    fn quoted(&mut self) -> Option<Tree<'a>> {
        let mut from = 0;
        loop {
            let end = from + self.rest[from..].find('\'')?;
            let (name, rest) = (&self.rest[..end], &self.rest[end + 1..]);
            if rest.starts_with('\'') {
                from = end + 2;
                continue;
            }
            self.rest = rest;
            let doubled = from > 0;
            return Some(Tree::Name(if doubled { name.replace("''", "'").into() } else { name.into() }));
        }
    }

    /// `digits [ "." [ digits ] ]`
    fn number(&mut self) -> Option<Tree<'a>> {
        let (mut value, mut unit) = (None, 1i64);
        let mut is_fraction = false;
        let mut chars = self.rest.chars();
        loop {
            let rest = chars.as_str();
            match chars.next() {
                Some('.') if !is_fraction && value.is_some() => is_fraction = true,
                Some(c) => match c.to_digit(10) {
                    Some(digit) => {
                        value = Some(value.unwrap_or(0i64).checked_mul(10)?.checked_add(digit.into())?);
                        unit = if is_fraction { unit.checked_mul(10)? } else { unit };
                    }
                    None if c.is_alphanumeric() || matches!(c, '_' | '.') => return None,
                    None => {
                        self.rest = rest;
                        break;
                    }
                },
                None => {
                    self.rest = rest;
                    break;
                }
            }
        }
        Some(Tree::Number(value?, unit))
    }

    fn exponent(&mut self) -> Option<u32> {
        self.rest = self.rest.trim_start();
        let Tree::Number(value, 1) = self.number()? else { return None };
        u32::try_from(value).ok().filter(|&power| power <= MAX_POWER)
    }
}
