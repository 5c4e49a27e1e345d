-- What the :TorchTalk command does, and the state for a status line.
local M = {}

---@type table<integer, table> The last status that each client has told, by its id.
local told = {}

---Keeps what the server says of its index. Called by the handler in lsp/torchtalkd.lua.
function M.heard(status, context)
  told[context.client_id] = status
  vim.api.nvim_exec_autocmds('User', { pattern = 'TorchTalkStatus', modeline = false, data = status })
end

---The server's client for a buffer; says why there is none.
---@return vim.lsp.Client?
local function client_of(buffer)
  local client = vim.lsp.get_clients({ name = 'torchtalkd', bufnr = buffer })[1]
    or vim.lsp.get_clients({ name = 'torchtalkd' })[1]
  if not client then
    vim.notify(
      "torchtalkd is not attached: call vim.lsp.enable('torchtalkd'), and see :checkhealth vim.lsp",
      vim.log.levels.WARN
    )
  end
  return client
end

---A short text for a status line: '' where there is no server.
function M.status()
  local client = vim.lsp.get_clients({ name = 'torchtalkd', bufnr = 0 })[1]
  local status = client and told[client.id]
  if not status then
    return ''
  end
  local waiting = 0
  for _, root in ipairs(status.roots) do
    if root.indexing then
      return ('torchtalkd %d %%'):format(math.floor(root.percent))
    elseif root.error ~= '' then
      return 'torchtalkd: trouble'
    end
    waiting = waiting + root.waiting
  end
  return waiting > 0 and ('torchtalkd: %d waiting'):format(waiting) or 'torchtalkd'
end

---Shows a text in a split of its own. gF on a place goes there: the window's folder is the root.
local function show(title, text, root)
  vim.cmd('botright new')
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, '\n'))
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].modifiable = false
  -- Another buffer may have the name still.
  pcall(vim.api.nvim_buf_set_name, buffer, 'torchtalk://' .. title)
  if root ~= '' then
    vim.cmd.lcd({ vim.fn.fnameescape(root), magic = { file = false, bar = false } })
  end
  vim.keymap.set('n', '<CR>', 'gF', { buffer = buffer, desc = 'Go to the place under the cursor' })
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, desc = 'Close' })
end

local function ask(method, params, answered)
  local buffer = vim.api.nvim_get_current_buf()
  local client = client_of(buffer)
  if not client then
    return
  end
  client:request(method, params(client, buffer), function(err, result)
    if err then
      vim.notify('torchtalkd: ' .. err.message, vim.log.levels.ERROR)
    else
      answered(result)
    end
  end, buffer)
end

local function nothing(result)
  if not result or result == vim.NIL then
    vim.notify('torchtalkd: nothing is known by that name', vim.log.levels.INFO)
    return true
  end
  return false
end

---Shows an operator's chain, or a part of it.
---@param name string '' means the symbol under the cursor.
---@param focus 'full'|'yaml'|'dispatch'
function M.trace(name, focus)
  ask('torchtalk/trace', function(client)
    if name ~= '' then
      return { name = name, focus = focus }
    end
    local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
    return vim.tbl_extend('error', params, { focus = focus })
  end, function(result)
    if not nothing(result) then
      local title = result.subjects[1] or name
      show(focus == 'full' and title or title .. '.' .. focus, result.text, result.root)
    end
  end)
end

---Fills the quickfix list with the chain of the symbol under the cursor.
function M.chain()
  ask('torchtalk/trace', function(client)
    local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
    return vim.tbl_extend('error', params, { focus = 'full' })
  end, function(result)
    if nothing(result) then
      return
    end
    local items = {}
    for _, place in ipairs(result.items) do
      if place.file ~= '' then
        local said = { place.role, place.dispatch_key or '', place.symbol, place.note or '' }
        items[#items + 1] = {
          filename = vim.uri_to_fname(place.uri),
          lnum = place.line,
          text = table.concat(
            vim.tbl_filter(function(text)
              return type(text) == 'string' and text ~= ''
            end, said),
            '  '
          ),
        }
      end
    end
    vim.fn.setqflist({}, ' ', { title = result.subjects[1], items = items })
    vim.cmd('botright copen')
  end)
end

---Says how far the indexes are.
function M.report()
  ask('torchtalk/status', function()
    return vim.empty_dict()
  end, function(status)
    local lines = {}
    for _, root in ipairs(status.roots) do
      local said = { ('%s (%s), revision %d'):format(root.root, root.harness, root.revision) }
      if root.indexing then
        said[#said + 1] = ('%d %% read'):format(math.floor(root.percent))
      end
      if root.waiting > 0 then
        said[#said + 1] = root.waiting .. ' files wait'
      end
      vim.list_extend(said, { root.error, root.note })
      lines[#lines + 1] = table.concat(
        vim.tbl_filter(function(text)
          return text ~= ''
        end, said),
        ', '
      )
    end
    vim.notify('torchtalkd: ' .. (#lines > 0 and table.concat(lines, '\n') or 'no source tree is known'))
  end)
end

return M
