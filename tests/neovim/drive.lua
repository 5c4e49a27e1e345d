-- Drives a real Neovim for tests/test_neovim.py: does the steps of a JSON file one after the other,
-- as a user would do them, and writes what came of each. A step is a table with `do` and its values.
local given = vim.env.TORCHTALK_TEST_STEPS
local steps = vim.json.decode(table.concat(vim.fn.readfile(given), '\n'))
local PATIENCE = 20000 -- Milliseconds after which a state that does not come is a failure.
local said = {}
vim.notify = function(text)
  said[#said + 1] = text
end
vim.ui.select = function(items, _, chosen)
  chosen(items[1], 1)
end

local function wait(state, what)
  local found
  assert(vim.wait(PATIENCE, function()
    found = state()
    return found ~= nil and found ~= false
  end, 20), ('never: %s; said: %s'):format(what, vim.inspect(said)))
  return found
end

local function here()
  local cursor = vim.api.nvim_win_get_cursor(0)
  return { file = vim.api.nvim_buf_get_name(0), line = cursor[1], column = cursor[2] }
end

local function items(list)
  return vim.tbl_map(function(item)
    local file = item.filename or vim.api.nvim_buf_get_name(item.bufnr)
    return { file = file, line = item.lnum, column = item.col, text = item.text }
  end, list)
end

local function lines_of(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
end

local function listed(request)
  local found
  local options = {
    on_list = function(list)
      found = items(list.items)
    end,
  }
  if request == 'references' then
    vim.lsp.buf.references({ includeDeclaration = false }, options)
  else
    vim.lsp.buf[request](options)
  end
  return wait(function()
    return found
  end, request)
end

local actions = {}

-- Opens a file, waits for its servers and for the index.
function actions.open(step)
  vim.cmd.edit({ vim.fn.fnameescape(step.file), bang = true })
  wait(function()
    return #vim.lsp.get_clients({ bufnr = 0 }) >= (step.clients or 1)
  end, 'the servers are attached')
  if step.clients == 0 then
    return true
  end
  local client = vim.lsp.get_clients({ name = 'torchtalkd', bufnr = 0 })[1]
  return wait(function()
    local answer = client:request_sync('torchtalk/status', vim.empty_dict(), PATIENCE)
    local roots = answer and answer.result and answer.result.roots or {}
    return roots[1] and roots[1].complete and client.config.root_dir or (roots[1] and roots[1].complete)
  end, 'the index is there')
end

-- Puts the cursor on a piece of the text.
function actions.on(step)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local at = line:find(step.text, 1, true)
    if at then
      vim.api.nvim_win_set_cursor(0, { number, at - 1 + (step.offset or 0) })
      return here()
    end
  end
  error('no such text: ' .. step.text)
end

function actions.type(step)
  vim.api.nvim_buf_set_lines(0, step.after, step.after, false, step.lines)
  return vim.bo.modified
end

-- The key itself: Neovim goes there when all servers together found one place.
function actions.jump(step)
  local before = here()
  vim.lsp.buf[step.request]()
  wait(function()
    return not vim.deep_equal(before, here())
  end, 'the cursor moves')
  return here()
end

-- CTRL-], by way of 'tagfunc'.
function actions.tag()
  vim.cmd.normal({ vim.keycode('<C-]>'), bang = true })
  return here()
end

function actions.list(step)
  return listed(step.request)
end

function actions.hover()
  vim.lsp.buf.hover()
  local window = wait(function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= '' then
        return window
      end
    end
  end, 'a window with the hover')
  local text = lines_of(vim.api.nvim_win_get_buf(window))
  vim.api.nvim_win_close(window, true)
  return text
end

-- What each server answers by itself: its name → whether it answered anything.
function actions.each(step)
  local found = vim.lsp.buf_request_sync(0, step.request, function(client)
    return vim.lsp.util.make_position_params(0, client.offset_encoding)
  end, PATIENCE)
  local answered = {}
  for id, answer in pairs(found or {}) do
    answered[vim.lsp.get_client_by_id(id).name] = answer.result ~= nil and answer.result ~= vim.NIL
  end
  return answered
end

function actions.calls(step)
  vim.fn.setqflist({}, 'r', { title = 'before', items = {} })
  local before = vim.fn.getqflist({ id = 0 }).id
  vim.lsp.buf[step.request]()
  wait(function()
    local now = vim.fn.getqflist({ id = 0, title = 1, size = 1 })
    return now.id ~= before and now.size > 0 or (now.title ~= 'before' and now.size > 0)
  end, 'the list of calls')
  vim.cmd.cclose()
  return items(vim.fn.getqflist())
end

-- A command of ours that opens a split: its text, where <CR> on a place leads, and q.
function actions.split(step)
  vim.cmd(step.command)
  wait(function()
    return vim.startswith(vim.api.nvim_buf_get_name(0), 'torchtalk://')
  end, 'the split')
  local result = { text = lines_of(0), name = vim.api.nvim_buf_get_name(0), modifiable = vim.bo.modifiable }
  if step.place then
    actions.on({ text = step.place })
    vim.cmd.normal({ vim.keycode('<CR>') })
    result.there = here()
  end
  vim.cmd.close()
  return result
end

function actions.quickfix(step)
  vim.cmd(step.command)
  wait(function()
    return vim.bo.buftype == 'quickfix'
  end, 'the quickfix window')
  vim.cmd.cclose()
  return { title = vim.fn.getqflist({ title = 1 }).title, items = items(vim.fn.getqflist()) }
end

-- A command that only says something.
function actions.says(step)
  local before = #said
  vim.cmd(step.command)
  return wait(function()
    return said[before + 1]
  end, 'a message')
end

function actions.said()
  return said
end

function actions.lua(step)
  return assert(load(step.code))()
end

function actions.health()
  vim.cmd('silent checkhealth ' .. (_G.health or 'torchtalkd'))
  return lines_of(0)
end

local results = {}
for number, step in ipairs(steps) do
  local good, found = xpcall(actions[step['do']], debug.traceback, step)
  results[number] = good and { good = true, result = found } or { error = found }
  if not good then
    break
  end
end
vim.fn.writefile({ vim.json.encode(results) }, given .. '.out')
vim.cmd('qall!')
