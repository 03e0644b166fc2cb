-- Compares the Vim syntax with the lexer's classes, token by token.
--
--     nvim --headless --clean -l tests/editors/grammars/vim_classes.lua SYNTAX.vim CLASSES.jsonl [EVERY]
--
-- CLASSES.jsonl is what conformance/examples/token_classes.rs writes. Vim is slow: of the corpus, each EVERYth text is looked at.

local syntax, classes, every = arg[1], arg[2], tonumber(arg[3] or "1")
local shown = 12
local longest = 20000

--- The first difference between the groups of a text and the classes of its tokens.
local function difference(row)
  local text = row.text
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, "\n", { plain = true }))
  vim.b.current_syntax = nil
  vim.cmd("syntax clear")
  vim.cmd.source(syntax)
  vim.o.synmaxcol = 0
  local line, column = 1, 1
  local at, ended, index = 0, 0, 1
  local tokens = row.tokens
  for _, character in ipairs(vim.fn.split(text, "\\zs")) do
    while tokens[index] and at >= tokens[index][2] do
      index = index + 1
    end
    if not tokens[index] then
      return nil
    end
    local expected = at >= tokens[index][1] and tokens[index][3] or ""
    if not character:match("^%s$") and character ~= "\239\187\191" then
      local group = vim.fn.synIDattr(vim.fn.synID(line, column, 0), "name"):gsub("^onnxtxt", "")
      if group ~= expected then
        local content = vim.fn.getline(line):sub(1, 120)
        return string.format("%d:%d: `%s` is %s, not %s: %s", line, column, character, expected, group, content)
      end
    end
    if character == "\n" then
      line, column = line + 1, 1
    else
      column = column + #character
    end
    at = at + 1
  end
  return nil
end

local texts, looked, count = 0, 0, 0
for content in io.lines(classes) do
  texts = texts + 1
  local row = vim.json.decode(content)
  local is_ours = row.path:find("tests/suite", 1, true)
  -- A buffer has no NUL characters.
  if #row.text <= longest and not row.text:find("%z") and (is_ours or texts % every == 0) then
    looked = looked + 1
    local wrong = difference(row)
    if wrong then
      count = count + 1
      if count <= shown then
        io.write(string.format("Vim: %s:%s\n", row.path, wrong))
      end
    end
  end
end
io.write(string.format("Vim: %d of %d texts differ from the lexer\n", count, looked))
os.exit((count > 0 or looked < 500) and 1 or 0)
