// What a `#` begins: `#@` and `##` are annotations in a file whose first line is `#@ onnxtxt 1`, and comments in every other.

#include "tree_sitter/alloc.h"
#include "tree_sitter/parser.h"

enum Token { COMMENT, DOCUMENTATION, ANNOTATION_BEGIN, ANNOTATION_END, FIRST_LINE };

typedef struct {
  // Whether a comment, or the first line, has been read.
  bool is_started;
  // Whether the file has annotations.
  bool is_annotated;
  // Whether the line of an annotation is being read.
  bool is_in_annotation;
} Scanner;

void *tree_sitter_onnxtxt_external_scanner_create(void) { return ts_calloc(1, sizeof(Scanner)); }

void tree_sitter_onnxtxt_external_scanner_destroy(void *payload) { ts_free(payload); }

unsigned tree_sitter_onnxtxt_external_scanner_serialize(void *payload, char *buffer) {
  const Scanner *scanner = payload;
  buffer[0] = (char)(scanner->is_started | scanner->is_annotated << 1 | scanner->is_in_annotation << 2);
  return 1;
}

void tree_sitter_onnxtxt_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  Scanner *scanner = payload;
  const char flags = length > 0 ? buffer[0] : 0;
  scanner->is_started = flags & 1;
  scanner->is_annotated = flags & 2;
  scanner->is_in_annotation = flags & 4;
}

static bool is_blank(int32_t character) {
  return character == ' ' || character == '\t' || character == '\v' || character == '\f' || character == '\r';
}

// Advances over a comment, to the end of its line.
static bool comment(Scanner *scanner, TSLexer *lexer) {
  while (!lexer->eof(lexer) && lexer->lookahead != '\n') {
    lexer->advance(lexer, false);
  }
  lexer->mark_end(lexer);
  scanner->is_started = true;
  lexer->result_symbol = COMMENT;
  return true;
}

// After `#@` at the start of the file: ` onnxtxt 1`, or a comment.
static bool first_line(Scanner *scanner, TSLexer *lexer) {
  for (const char *expected = " onnxtxt "; *expected; expected++) {
    if (lexer->lookahead != *expected) {
      return comment(scanner, lexer);
    }
    lexer->advance(lexer, false);
  }
  while (lexer->lookahead >= '0' && lexer->lookahead <= '9') {
    lexer->advance(lexer, false);
  }
  lexer->mark_end(lexer);
  while (is_blank(lexer->lookahead)) {
    lexer->advance(lexer, false);
  }
  scanner->is_started = true;
  scanner->is_annotated = true;
  scanner->is_in_annotation = lexer->lookahead == ',';
  lexer->result_symbol = FIRST_LINE;
  return true;
}

bool tree_sitter_onnxtxt_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  Scanner *scanner = payload;
  bool starts_line = false;
  bool is_first = !scanner->is_started;
  for (;;) {
    if (scanner->is_in_annotation && (lexer->eof(lexer) || lexer->lookahead == '\n')) {
      if (!valid[ANNOTATION_END]) {
        return false;
      }
      lexer->mark_end(lexer);
      scanner->is_in_annotation = false;
      lexer->result_symbol = ANNOTATION_END;
      return true;
    }
    if (!is_blank(lexer->lookahead) && lexer->lookahead != '\n') {
      break;
    }
    starts_line |= lexer->lookahead == '\n';
    is_first = false;
    lexer->advance(lexer, true);
  }
  if (lexer->lookahead == '/') {
    lexer->advance(lexer, false);
    return lexer->lookahead == '/' && comment(scanner, lexer);
  }
  if (lexer->lookahead != '#') {
    return false;
  }
  lexer->advance(lexer, false);
  if (is_first && valid[FIRST_LINE] && lexer->lookahead == '@') {
    lexer->advance(lexer, false);
    return first_line(scanner, lexer);
  }
  if (scanner->is_annotated && lexer->lookahead == '@') {
    lexer->advance(lexer, false);
    lexer->mark_end(lexer);
    scanner->is_in_annotation = true;
    lexer->result_symbol = ANNOTATION_BEGIN;
    return valid[ANNOTATION_BEGIN];
  }
  if (scanner->is_annotated && starts_line && lexer->lookahead == '#') {
    comment(scanner, lexer);
    lexer->result_symbol = DOCUMENTATION;
    return valid[DOCUMENTATION];
  }
  return comment(scanner, lexer);
}
