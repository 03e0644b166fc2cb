-- Neovim 0.11 or newer: the language server, and binary models as text.
if vim.g.loaded_onnxtxt then
  return
end
vim.g.loaded_onnxtxt = true

vim.lsp.enable("onnxtxt")
vim.treesitter.language.register("onnxtxt", { "onnxtxt", "onnx" })

--- The server, started if it does not run yet.
local function client()
  local config = vim.lsp.config.onnxtxt
  local id = vim.lsp.start({ name = "onnxtxt", cmd = config.cmd, root_dir = vim.fn.getcwd() }, { attach = false })
  return id and vim.lsp.get_client_by_id(id)
end

--- Asks the server and waits for the answer.
local function ask(method, params)
  local server = assert(client(), "onnxtxt is not on the PATH")
  vim.wait(10000, function()
    return server.initialized
  end)
  local answer, reason = server:request_sync(method, params, 60000)
  assert(answer, reason)
  assert(not answer.err, answer.err and answer.err.message)
  return answer.result
end

local group = vim.api.nvim_create_augroup("onnxtxt", {})

vim.api.nvim_create_autocmd("BufReadCmd", {
  group = group,
  pattern = "*.onnx",
  callback = function(event)
    local uri = vim.uri_from_fname(vim.fn.fnamemodify(event.match, ":p"))
    local text = ask("onnxtxt/text", { uri = uri }).text
    vim.api.nvim_buf_set_lines(event.buf, 0, -1, false, vim.split(text, "\n", { plain = true, trimempty = true }))
    vim.bo[event.buf].buftype = "acwrite"
    vim.bo[event.buf].modified = false
    vim.bo[event.buf].filetype = "onnxtxt"
  end,
})

vim.api.nvim_create_autocmd("BufWriteCmd", {
  group = group,
  pattern = "*.onnx",
  callback = function(event)
    local uri = vim.uri_from_fname(vim.fn.fnamemodify(event.match, ":p"))
    local text = table.concat(vim.api.nvim_buf_get_lines(event.buf, 0, -1, false), "\n") .. "\n"
    ask("onnxtxt/write", { uri = uri, text = text })
    vim.bo[event.buf].modified = false
  end,
})
