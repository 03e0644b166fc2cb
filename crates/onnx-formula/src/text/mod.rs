//! The text of formulas: lexer, parser and printer. The grammar is in `grammar/schedule.md`.

mod lex;
mod read;
mod show;

pub use lex::Token;
pub use read::{Mistake, Reader};
pub use show::{line, quoted};
