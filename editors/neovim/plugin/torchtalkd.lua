-- The :TorchTalk command. Nothing is loaded before it is used.
if vim.g.loaded_torchtalkd then
  return
end
vim.g.loaded_torchtalkd = true

local actions = {
  trace = function(name)
    require('torchtalkd').trace(name, 'full')
  end,
  dispatch = function(name)
    require('torchtalkd').trace(name, 'dispatch')
  end,
  yaml = function(name)
    require('torchtalkd').trace(name, 'yaml')
  end,
  chain = function()
    require('torchtalkd').chain()
  end,
  status = function()
    require('torchtalkd').report()
  end,
}

vim.api.nvim_create_user_command('TorchTalk', function(command)
  local first = command.fargs[1] or 'trace'
  if actions[first] then
    actions[first](command.fargs[2] or '')
  else
    -- :TorchTalk matmul
    actions.trace(first)
  end
end, {
  nargs = '*',
  desc = "An operator's chain from Python to the kernels",
  complete = function(typed, line)
    if #vim.split(vim.trim(line:sub(1, -#typed - 1)), '%s+') > 1 then
      return {}
    end
    local names = vim.tbl_filter(function(name)
      return vim.startswith(name, typed)
    end, vim.tbl_keys(actions))
    table.sort(names)
    return names
  end,
})
