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
  elseif status.state == 'indexing' and status.total > 0 then
    return ('torchtalkd %d %%'):format(math.floor(100 * status.done / status.total))
  elseif status.state == 'waiting' then
    return ('torchtalkd: %d waiting'):format(status.waiting)
  end
  return 'torchtalkd: ' .. status.state
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

---Shows an operator's chain, or a part of it.
---@param name string '' means the word under the cursor.
---@param focus 'full'|'yaml'|'dispatch'
function M.trace(name, focus)
  name = name ~= '' and name or vim.fn.expand('<cword>')
  ask('torchtalk/trace', function(_, buffer)
    return { name = name, focus = focus, uri = vim.uri_from_bufnr(buffer) }
  end, function(result)
    show(focus == 'full' and name or name .. '.' .. focus, result.text, result.root)
  end)
end

---Fills the quickfix list with the chain of the symbol under the cursor.
function M.chain()
  ask('torchtalk/operator', function(client)
    return vim.lsp.util.make_position_params(0, client.offset_encoding)
  end, function(chain)
    if not chain or chain == vim.NIL then
      vim.notify('torchtalkd: nothing is known at the cursor', vim.log.levels.INFO)
      return
    end
    local client = client_of(0)
    local items = {}
    local function add(steps, under)
      for _, step in ipairs(steps) do
        if step.location and step.location ~= vim.NIL then
          local item = vim.lsp.util.locations_to_items({ step.location }, client.offset_encoding)[1]
          item.text = ('%s%s  %s'):format(under, step.label, step.detail)
          items[#items + 1] = item
        end
        add(step.steps, step.label .. ' > ')
      end
    end
    add(chain.steps, '')
    vim.fn.setqflist({}, ' ', { title = chain.subject, items = items })
    vim.cmd('botright copen')
  end)
end

---Says how far the index is.
function M.report()
  ask('torchtalk/status', function()
    return vim.NIL
  end, function(status)
    local parts = { status.root ~= '' and status.root or 'no source tree is known', status.state }
    if status.revision > 0 then
      parts[#parts + 1] = 'revision ' .. status.revision
    end
    if status.waiting > 0 then
      parts[#parts + 1] = status.waiting .. ' files wait'
    end
    if status.note ~= '' then
      parts[#parts + 1] = status.note
    end
    vim.notify('torchtalkd: ' .. table.concat(parts, ', '))
  end)
end

return M
