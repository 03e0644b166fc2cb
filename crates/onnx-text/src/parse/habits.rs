//! Diagnostics of constructs of other languages, which `grammar/habits.rs` finds.

use super::failure::{Failure, Problem, found};
use crate::lex::{Kind, Token, shown};
use crate::literal::LiteralOperand;
use onnx_ir::diag::{Diagnostic, Edit, Span, code};

/// The diagnostic of a mistake that covers some tokens.
pub(super) fn habit(failure: Failure, tokens: &[Token], source: &str, covered: Span) -> Diagnostic {
    let at = failure.at as usize;
    let place = tokens.get(at).map_or(covered, |t| t.span);
    let text = |span: Span| &source[span.range()];
    let new = |span: Span, message: String| Diagnostic::new(&code::UNEXPECTED_TOKEN, span, message);
    match failure.problem {
        Problem::TypeAfterName => {
            let ty = tokens.get(at + 2).map_or(covered, |t| Span::new(t.span.start, covered.end));
            let right = format!("{} {}", text(ty), text(place));
            new(covered, format!("the type of `{}` comes after its name", shown(text(place))))
                .label("a type is written before the name")
                .help(format!("write `{}`", shown(&right)))
                .fix(
                    format!("write `{}`", shown(&right)),
                    vec![Edit { span: covered, text: right }],
                    // Comments between the tokens would move.
                    !text(covered).contains(['#', '\n']),
                )
        }
        Problem::Keyword => {
            let name = tokens.get(at + 1).map_or(place, |t| t.span);
            new(place, format!("`{}` is not a keyword", text(place)))
                .label("a graph or function begins with its name")
                .help(format!("write `{}` without it", shown(text(name))))
                .fix(
                    "remove the word",
                    vec![Edit { span: Span::new(place.start, name.start), text: String::new() }],
                    true,
                )
        }
        Problem::Return => new(covered, "`return` is not a statement".to_owned())
            .label("results are the outputs in the signature, by their names")
            .help("remove it, and give the result the name of the output after the `=>`")
            .fix("remove the statement", vec![Edit { span: covered, text: String::new() }], false),
        Problem::NoSignature => new(place, "graph without a signature".to_owned())
            .label("expected a name, inputs and outputs before the `{`")
            .help("write `name (inputs) => (outputs) { … }`"),
        Problem::Literal | Problem::LiteralInFunction => {
            let found = match tokens.get(at) {
                Some(Token { kind: Kind::LBracket | Kind::LBrace, .. }) => "a list".to_owned(),
                token => found(token, source),
            };
            let is_in_function = failure.problem == Problem::LiteralInFunction;
            let help = LiteralOperand::parse(text(covered)).map(|l| l.help(l.elem(), is_in_function));
            new(covered, format!("expected a name, found {found}"))
                .label("expected the name of a value")
                .maybe_help(help.or_else(|| Some("operands are names".to_owned())))
        }
        _ => new(place, format!("unexpected {}", found(tokens.get(at), source))),
    }
}
