vim.bo.commentstring = "# %s"
vim.bo.comments = ":##,:#@,:#"
-- The parser is optional: without it, syntax/onnxtxt.vim colors the text.
if pcall(vim.treesitter.start) then
  vim.wo[0][0].foldmethod = "expr"
  vim.wo[0][0].foldexpr = "v:lua.vim.treesitter.foldexpr()"
  vim.wo[0][0].foldlevel = 99
end
