-- :checkhealth torchtalkd
local M = {}

---Whether the program that the configuration names can be run.
local function program()
  local config = vim.lsp.config.torchtalkd
  local command = config and type(config.cmd) == 'table' and config.cmd[1]
  if not config then
    vim.health.error("there is no configuration 'torchtalkd'", "put the folder editors/neovim into 'runtimepath'")
  elseif not command then
    vim.health.ok('the server is started by a function of the configuration')
  elseif vim.fn.executable(command) == 1 then
    vim.health.ok(('%s is %s'):format(command, vim.fn.exepath(command)))
  else
    vim.health.error(
      ('%s cannot be run'):format(command),
      { 'pip install torchtalkd', "or name it: vim.lsp.config('torchtalkd', { cmd = { '/path/to/torchtalkd', 'lsp' } })" }
    )
  end
end

---Whether the server runs, and how far its indexes are.
local function server()
  if not vim.lsp.is_enabled('torchtalkd') then
    vim.health.warn('the server is not enabled', "vim.lsp.enable('torchtalkd')")
    return
  end
  local client = vim.lsp.get_clients({ name = 'torchtalkd' })[1]
  if not client then
    vim.health.info('the server is enabled; it starts with the first Python, C++ or CUDA file')
    return
  end
  local answer = client:request_sync('torchtalk/status', vim.empty_dict(), 5000)
  local roots = answer and answer.result and answer.result.roots
  if not roots then
    vim.health.error('the server does not answer', 'see the log: ' .. vim.lsp.log.get_filename())
  elseif #roots == 0 then
    vim.health.warn('no source tree is known', 'torchtalkd init --source PATH --set-default')
  end
  for _, root in ipairs(roots or {}) do
    local said = require('torchtalkd').sentence(root)
    if root.error ~= '' then
      vim.health.error(said)
    else
      vim.health.ok(said)
    end
  end
end

function M.check()
  vim.health.start('torchtalkd')
  if vim.fn.has('nvim-0.11') == 0 then
    vim.health.error('Neovim 0.11 or later is needed')
    return
  end
  program()
  server()
end

return M
