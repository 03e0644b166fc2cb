//! Parses the text of formulas that `show` prints.
//!
//! [`Reader`] is a cursor over the tokens of a text. It parses formulas; schedules, which embed formulas, use the same cursor.
//! The grammar is in `grammar/schedule.md`.

use super::lex::{Token, index_of, tokens};
use crate::{Binary, Cast, Combine, Expr, Formula, Index, Keep, Number, Reduction, Rounding, Unary};
use onnx_ir::ElemType;
use std::ops::Range;

/// A parse error with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// The bytes of the error.
    pub at: Range<usize>,
    /// The message, lower case, no full stop.
    pub why: String,
}

impl Mistake {
    /// An error at some bytes.
    pub fn new(at: Range<usize>, why: impl Into<String>) -> Mistake {
        Mistake { at, why: why.into() }
    }
}

/// The deepest nesting of expressions.
const MAX_DEPTH: usize = 400;

/// The most elements of a tensor, so that byte counts cannot overflow.
const MAX_ELEMENTS: usize = 1 << 48;

/// A cursor over the tokens of a text.
#[derive(Debug)]
pub struct Reader<'t> {
    text: &'t str,
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    depth: usize,
}

/// A lookup of operand names.
pub(super) type Slots<'s> = &'s mut dyn FnMut(&str) -> Option<usize>;

impl<'t> Reader<'t> {
    /// A cursor at the start of a text.
    ///
    /// # Errors
    ///
    /// No token starts at some character.
    pub fn new(text: &'t str) -> Result<Reader<'t>, Mistake> {
        let tokens = tokens(text).map_err(|at| {
            let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
            Mistake::new(at..end, "unexpected character")
        })?;
        Ok(Reader { text, tokens, at: 0, depth: 0 })
    }

    /// Whether the end is reached.
    pub fn is_at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    /// The next token, `""` at the end.
    pub fn peek(&self) -> &'t str {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> &'t str {
        self.tokens.get(self.at + by).map_or("", |(_, at)| &self.text[at.clone()])
    }

    fn token(&self) -> Option<Token> {
        self.tokens.get(self.at).map(|(token, _)| *token)
    }

    /// The bytes of the next token.
    pub fn place(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.text.len()..self.text.len(), |(_, at)| at.clone())
    }

    /// The bytes from a place to the last consumed token.
    pub fn since(&self, from: &Range<usize>) -> Range<usize> {
        let end =
            self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(from.end, |(_, at)| at.end);
        from.start..end.max(from.start)
    }

    /// Consumes a token.
    pub fn skip(&mut self) {
        self.at += usize::from(!self.is_at_end());
    }

    /// The current position, for [`back_to`](Self::back_to).
    pub fn mark(&self) -> usize {
        self.at
    }

    /// Returns to an earlier position.
    pub fn back_to(&mut self, mark: usize) {
        self.at = mark.min(self.at);
    }

    /// Consumes the next token if it is this one.
    pub fn eat(&mut self, wanted: &str) -> bool {
        let is_it = self.peek() == wanted && !self.is_at_end();
        self.at += usize::from(is_it);
        is_it
    }

    /// Consumes this token.
    ///
    /// # Errors
    ///
    /// The next token is another one.
    pub fn expect(&mut self, wanted: &str) -> Result<(), Mistake> {
        if self.eat(wanted) { Ok(()) } else { Err(self.unexpected(&format!("`{wanted}`"))) }
    }

    /// An error about the next token.
    pub fn unexpected(&self, wanted: &str) -> Mistake {
        let found =
            if self.is_at_end() { "the end of the text".to_owned() } else { format!("`{}`", self.peek()) };
        Mistake::new(self.place(), format!("expected {wanted}, found {found}"))
    }

    /// Reads a name: a word, one in quotes, or the number of a slot.
    ///
    /// # Errors
    ///
    /// The next token is not a name.
    pub fn name(&mut self) -> Result<String, Mistake> {
        let text = self.peek();
        let name = match self.token() {
            Some(Token::Word | Token::Slot) => text.to_owned(),
            Some(Token::Quoted) => unquoted(text)
                .ok_or_else(|| Mistake::new(self.place(), "an escape is `\\\"`, `\\\\` or `\\u{…}`"))?,
            _ => return Err(self.unexpected("a name")),
        };
        self.at += 1;
        Ok(name)
    }

    /// Reads a number without a sign.
    ///
    /// # Errors
    ///
    /// The next token is not a number, or the number is too large.
    pub fn count(&mut self) -> Result<usize, Mistake> {
        if self.token() != Some(Token::Int) {
            return Err(self.unexpected("a number"));
        }
        let number = self.peek().parse();
        let number = number.map_err(|_| Mistake::new(self.place(), "the number is too large"))?;
        self.at += 1;
        Ok(number)
    }

    /// Reads an integer with or without a sign.
    ///
    /// # Errors
    ///
    /// As [`count`](Self::count).
    pub fn int(&mut self) -> Result<i64, Mistake> {
        let is_negative = self.eat("-");
        let at = self.place();
        let number = self.whole()?;
        let number = if is_negative { -number } else { number };
        i64::try_from(number).map_err(|_| Mistake::new(at, "the number is too large"))
    }

    fn whole(&mut self) -> Result<i128, Mistake> {
        if self.token() != Some(Token::Int) {
            return Err(self.unexpected("a number"));
        }
        let number = self.peek().parse();
        let number = number.map_err(|_| Mistake::new(self.place(), "the number is too large"))?;
        self.at += 1;
        Ok(number)
    }

    /// Reads an element type with sizes, as in `float[2,3]`.
    ///
    /// # Errors
    ///
    /// The next tokens are not a type.
    pub fn ty(&mut self) -> Result<(ElemType, Vec<usize>), Mistake> {
        let elem = self.elem()?;
        let dims = if self.peek() == "[" { self.extents()? } else { Vec::new() };
        Ok((elem, dims))
    }

    fn elem(&mut self) -> Result<ElemType, Mistake> {
        let elem = ElemType::from_name(self.peek()).ok_or_else(|| self.unexpected("an element type"))?;
        self.at += 1;
        Ok(elem)
    }

    /// Reads sizes in brackets.
    ///
    /// # Errors
    ///
    /// There are none, or their product exceeds the limit.
    pub fn extents(&mut self) -> Result<Vec<usize>, Mistake> {
        let from = self.place();
        self.expect("[")?;
        let mut dims = Vec::new();
        while !self.eat("]") {
            if !dims.is_empty() {
                self.expect(",")?;
            }
            dims.push(self.count()?);
        }
        // Sizes other than 0 are limited for empty tensors too, because positions are computed from them.
        let count = dims.iter().try_fold(1usize, |count, d| count.checked_mul((*d).max(1)));
        match count.filter(|count| *count <= MAX_ELEMENTS) {
            Some(_) => Ok(dims),
            None => Err(Mistake::new(self.since(&from), "the tensor is too large")),
        }
    }

    /// Reads a formula with its name.
    ///
    /// # Errors
    ///
    /// The text is not a formula, or loads a name that `slots` does not know.
    pub fn formula(&mut self, slots: Slots<'_>) -> Result<(String, Formula), Mistake> {
        let (elem, dims) = self.ty()?;
        let name = self.name()?;
        self.indices(dims.len())?;
        self.expect("=")?;
        if self.is_reduction() {
            let (over, expr) = self.reduction(elem, dims.len(), slots)?;
            return Ok((name, Formula { elem, dims, over: Some(over), expr, then: None }));
        }
        let expr = self.expr(slots)?;
        if !self.eat("where") {
            return Ok((name, Formula { elem, dims, over: None, expr, then: None }));
        }
        self.expect("total")?;
        self.expect("=")?;
        let (over, element) = self.reduction(elem, dims.len(), slots)?;
        Ok((name, Formula { elem, dims, over: Some(over), expr: element, then: Some(expr) }))
    }

    /// The indices of a result, numbered from 0.
    fn indices(&mut self, count: usize) -> Result<(), Mistake> {
        if count == 0 {
            return Ok(());
        }
        self.expect("[")?;
        for i in 0..count {
            if i > 0 {
                self.expect(",")?;
            }
            self.expect(&format!("i{i}"))?;
        }
        self.expect("]")
    }

    /// Whether a reduction follows: `sum over`, `double sum over`, `first argmax over`.
    fn is_reduction(&self) -> bool {
        let first = usize::from(ElemType::from_name(self.peek()).is_some());
        let is_word = |text: &str| text.bytes().all(|c| c.is_ascii_alphabetic());
        (1..=2).any(|by| self.ahead(first + by) == "over" && (0..by).all(|i| is_word(self.ahead(first + i))))
    }

    fn reduction(
        &mut self,
        elem: ElemType,
        rank: usize,
        slots: Slots<'_>,
    ) -> Result<(Reduction, Expr), Mistake> {
        let elem = if ElemType::from_name(self.peek()).is_some() { self.elem()? } else { elem };
        let from = self.place();
        let mut name = self.peek().to_owned();
        self.at += 1;
        if matches!(&*name, "first" | "last") {
            name = format!("{name} {}", self.peek());
            self.at += 1;
        }
        let wrong =
            || Mistake::new(self.since(&from), "expected `sum`, `product`, `max`, `min` or `first argmax`");
        let combine = COMBINE.into_iter().find(|combine| combine.name() == name).ok_or_else(wrong)?;
        self.expect("over")?;
        let mut dims = Vec::new();
        while !self.eat("nothing") {
            self.expect(&format!("i{}", rank + dims.len()))?;
            self.expect("<")?;
            dims.push(self.count()?);
            if !self.eat(",") {
                break;
            }
        }
        self.expect("of")?;
        let expr = self.expr(slots)?;
        Ok((Reduction { dims, combine, elem }, expr))
    }

    /// A binary operation, or an operand.
    fn expr(&mut self, slots: Slots<'_>) -> Result<Expr, Mistake> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let why = format!("expressions are nested more than {MAX_DEPTH} levels deep");
            return Err(Mistake::new(self.place(), why));
        }
        let a = self.operand(slots)?;
        let sign = self.peek();
        let op = Binary::named(sign).filter(|op| op.sign().is_some());
        let expr = match op {
            Some(op) => {
                self.at += 1;
                let b = self.operand(slots)?;
                a.binary(op, b)
            }
            None => a,
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn operand(&mut self, slots: Slots<'_>) -> Result<Expr, Mistake> {
        let text = self.peek();
        match self.token() {
            Some(Token::Int) => Ok(Expr::Number(Number::Int(self.whole()?))),
            Some(Token::Float) => Ok(Expr::Number(Number::Float(self.float()?))),
            Some(Token::Symbol) if text == "-" => self.negative(slots),
            Some(Token::Symbol) if text == "(" => self.parenthesized(slots),
            Some(Token::Word) => self.word(slots),
            Some(Token::Quoted | Token::Slot) => self.load(slots),
            _ => Err(self.unexpected("an expression")),
        }
    }

    /// A negative number, or a negation.
    fn negative(&mut self, slots: Slots<'_>) -> Result<Expr, Mistake> {
        self.expect("-")?;
        Ok(match self.token() {
            Some(Token::Int) => Expr::Number(Number::Int(-self.whole()?)),
            Some(Token::Float) => Expr::Number(Number::Float(-self.float()?)),
            Some(Token::Word) if self.peek() == "inf" => {
                self.at += 1;
                Expr::Number(Number::Float(f64::NEG_INFINITY))
            }
            _ => {
                self.deeper()?;
                let x = self.operand(slots)?;
                self.depth -= 1;
                x.unary(Unary::Neg)
            }
        })
    }

    fn deeper(&mut self) -> Result<(), Mistake> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let why = format!("expressions are nested more than {MAX_DEPTH} levels deep");
            return Err(Mistake::new(self.place(), why));
        }
        Ok(())
    }

    /// Reads a number with or without a sign.
    ///
    /// # Errors
    ///
    /// The next token is not a number.
    pub fn number(&mut self) -> Result<Number, Mistake> {
        match self.negative_or_number()? {
            Expr::Number(number) => Ok(number),
            _ => Err(self.unexpected("a number")),
        }
    }

    fn negative_or_number(&mut self) -> Result<Expr, Mistake> {
        let none: Slots<'_> = &mut |_| None;
        let is_number = |token| matches!(token, Some(Token::Int | Token::Float));
        match self.peek() {
            "-" | "inf" | "NaN" => self.operand(none),
            _ if is_number(self.token()) => self.operand(none),
            _ => Err(self.unexpected("a number")),
        }
    }

    fn float(&mut self) -> Result<f64, Mistake> {
        let text = self.peek();
        let number = match text.strip_suffix('f') {
            Some(digits) => digits.parse::<f32>().map(f64::from),
            None => text.parse::<f64>(),
        };
        let number = number.map_err(|_| self.unexpected("a number"))?;
        self.at += 1;
        Ok(number)
    }

    /// An expression in parentheses, or a select.
    fn parenthesized(&mut self, slots: Slots<'_>) -> Result<Expr, Mistake> {
        self.expect("(")?;
        let expr = self.expr(slots)?;
        let expr = if self.eat("if") {
            let condition = self.expr(slots)?;
            self.expect("else")?;
            let no = self.expr(slots)?;
            Expr::Select(Box::new([condition, expr, no]))
        } else {
            expr
        };
        self.expect(")")?;
        Ok(expr)
    }

    /// An expression that starts with a word: a function, a cast, an index, a load.
    fn word(&mut self, slots: Slots<'_>) -> Result<Expr, Mistake> {
        let word = self.peek();
        if let Some(index) = index_of(word) {
            self.at += 1;
            return Ok(Expr::Index(Index::of(index)));
        }
        let number = match word {
            "inf" => Some(f64::INFINITY),
            "NaN" => Some(f64::NAN),
            _ => None,
        };
        if let Some(number) = number {
            self.at += 1;
            return Ok(Expr::Number(Number::Float(number)));
        }
        match word {
            "total" => {
                self.at += 1;
                return Ok(Expr::Total);
            }
            "not" => {
                self.at += 1;
                self.deeper()?;
                let x = self.operand(slots)?;
                self.depth -= 1;
                return Ok(x.unary(Unary::Not));
            }
            _ => {}
        }
        if self.ahead(1) != "(" {
            return self.load(slots);
        }
        self.at += 2;
        let expr = match word {
            "index" => Expr::Index(self.index(slots)?),
            "bits" => {
                let from = self.elem()?;
                self.expect(",")?;
                let to = self.elem()?;
                self.expect(",")?;
                Expr::Bits(from, to, Box::new(self.expr(slots)?))
            }
            _ => self.function(word, slots)?,
        };
        self.expect(")")?;
        Ok(expr)
    }

    fn function(&mut self, name: &str, slots: Slots<'_>) -> Result<Expr, Mistake> {
        if let Some(to) = ElemType::from_name(name) {
            let mut cast = Cast::from(to);
            let x = self.expr(slots)?;
            while self.eat(",") {
                match self.peek() {
                    "saturated" => cast.saturates = true,
                    "up" => cast.rounding = Rounding::Up,
                    "down" => cast.rounding = Rounding::Down,
                    _ => return Err(self.unexpected("`saturated`, `up` or `down`")),
                }
                self.at += 1;
            }
            return Ok(Expr::Cast(cast, Box::new(x)));
        }
        if let Some(op) = Unary::named(name).filter(|op| !matches!(op, Unary::Neg | Unary::Not)) {
            return Ok(self.expr(slots)?.unary(op));
        }
        let Some(op) = Binary::named(name) else {
            let at = self.tokens.get(self.at.saturating_sub(2)).map_or(0..0, |(_, at)| at.clone());
            return Err(Mistake::new(at, format!("unknown function `{name}`")));
        };
        let a = self.expr(slots)?;
        self.expect(",")?;
        Ok(a.binary(op, self.expr(slots)?))
    }

    fn load(&mut self, slots: Slots<'_>) -> Result<Expr, Mistake> {
        let at = self.place();
        let name = self.name()?;
        let Some(slot) = slots(&name) else {
            return Err(Mistake::new(at, format!("`{name}` is used before it is declared or computed")));
        };
        let mut position = Vec::new();
        if self.eat("[") {
            loop {
                position.push(self.index(slots)?);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect("]")?;
        }
        Ok(Expr::Load(slot, position))
    }

    /// A position along a dimension.
    fn index(&mut self, slots: Slots<'_>) -> Result<Index, Mistake> {
        self.deeper()?;
        let from = self.place();
        let (mut offset, mut terms, mut parts, mut alone) = (0i64, Vec::new(), Vec::new(), None);
        let mut count = 0;
        loop {
            let is_negative = if count == 0 { self.eat("-") } else { self.peek() == "-" };
            if count > 0 && !self.eat("+") && !self.eat("-") {
                break;
            }
            count += 1;
            let signed = |by: i64| if is_negative { by.checked_neg() } else { Some(by) };
            let large = || Mistake::new(from.clone(), "the number is too large");
            let by = match self.token() {
                Some(Token::Int) => {
                    let number = self.int()?;
                    if !self.eat("*") {
                        offset = signed(number).and_then(|by| offset.checked_add(by)).ok_or_else(large)?;
                        continue;
                    }
                    number
                }
                _ => 1,
            };
            let by = signed(by).ok_or_else(large)?;
            match self.atom(slots)? {
                Atom::Axis(axis) => terms.push((axis, by)),
                Atom::Part(index) => parts.push((index, by)),
                Atom::Alone(index) => {
                    alone = Some(index);
                    if by != 1 || count > 1 {
                        break;
                    }
                }
            }
        }
        self.depth -= 1;
        let is_affine = parts.is_empty() && alone.is_none();
        if is_affine {
            return Ok(Index::Affine(offset, terms));
        }
        match alone {
            Some(index) if count == 1 && parts.is_empty() => Ok(index),
            None if terms.is_empty() && offset == 0 => Ok(Index::Sum(parts)),
            _ => Err(Mistake::new(
                self.since(&from),
                "write parentheses around parts of a sum that are not axes",
            )),
        }
    }

    fn atom(&mut self, slots: Slots<'_>) -> Result<Atom, Mistake> {
        let text = self.peek();
        let (inner, is_part) = if let Some(axis) = index_of(text) {
            self.at += 1;
            if !matches!(self.peek(), "/" | "%") {
                return Ok(Atom::Axis(axis));
            }
            (Index::of(axis), false)
        } else if self.eat("(") {
            let inner = self.index(slots)?;
            self.expect(")")?;
            (inner, true)
        } else if self.eat("{") {
            let expr = self.expr(slots)?;
            self.expect("}")?;
            (Index::Element(Box::new(expr)), false)
        } else {
            (Index::Element(Box::new(self.load(slots)?)), false)
        };
        Ok(if self.eat("/") {
            Atom::Alone(Index::Div(Box::new(inner), self.int()?))
        } else if self.eat("%") {
            Atom::Alone(Index::Rem(Box::new(inner), self.int()?))
        } else if is_part {
            Atom::Part(inner)
        } else {
            Atom::Alone(inner)
        })
    }
}

/// A part of an index.
enum Atom {
    /// An index.
    Axis(usize),
    /// A part of a sum, in parentheses.
    Part(Index),
    /// A complete index.
    Alone(Index),
}

const COMBINE: [Combine; 8] = [
    Combine::Sum,
    Combine::Product,
    Combine::Max,
    Combine::Min,
    Combine::ArgMax(Keep::First),
    Combine::ArgMax(Keep::Last),
    Combine::ArgMin(Keep::First),
    Combine::ArgMin(Keep::Last),
];

/// The name inside quotes.
fn unquoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut name = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            name.push(c);
            continue;
        }
        match rest.next()? {
            c @ ('"' | '\\') => name.push(c),
            'u' => {
                let (digits, behind) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                name.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
                rest = behind.chars();
            }
            _ => return None,
        }
    }
    Some(name)
}
