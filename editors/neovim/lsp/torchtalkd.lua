-- The configuration of the server, for Neovim 0.11 and later: vim.lsp.enable('torchtalkd').

---@type vim.lsp.Config
return {
  cmd = { 'torchtalkd', 'lsp' },
  filetypes = { 'python', 'cpp', 'c', 'cuda', 'objcpp', 'yaml' },
  -- The top of a work tree. A file outside any is answered from the configured default root.
  root_markers = { '.torchtalk.toml', '.git' },
  workspace_required = false,
  -- Of yaml only the files that are the server's business: others get no client at all.
  root_dir = function(buffer, on_dir)
    local name = vim.api.nvim_buf_get_name(buffer)
    if vim.bo[buffer].filetype == 'yaml' then
      local base = vim.fs.basename(name)
      if not vim.list_contains({ 'native_functions.yaml', 'derivatives.yaml', 'tags.yaml' }, base) then
        return
      end
    end
    on_dir(vim.fs.root(buffer, { '.torchtalk.toml', '.git' }))
  end,
  settings = {
    torchtalk = {
      definition = 'source',
      features = { codeLens = false, inlayHint = false },
    },
  },
  -- The server reads its settings at the start too, before it can ask for them.
  before_init = function(params, config)
    params.initializationOptions = config.settings
  end,
  handlers = {
    ['torchtalk/status'] = function(_, status, context)
      require('torchtalkd').heard(status, context)
    end,
  },
}
