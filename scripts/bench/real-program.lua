-- real-program.lua ROUNDS [jumps]: work for the recorded interpreter, with an
-- output that is the same each time: tables, strings, patterns, sorting, the
-- collector; with jumps also errors and coroutines, where the interpreter
-- leaves its functions by longjmp.

local rounds = tonumber(arg[1]) or 1
local jumps = arg[2] == "jumps"
local seed = 42
local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % n
end

local function words(n)
  local list = {}
  for i = 1, n do
    local w = {}
    for k = 1, 3 + random(6) do w[k] = string.char(97 + random(26)) end
    list[i] = table.concat(w)
  end
  return list
end

local function fail(depth)
  if depth == 0 then error("deep") end
  local ok = string.gsub("abc", "b", function() fail(depth - 1) end)
  return ok
end

for round = 1, rounds do
  local list = words(2000)
  table.sort(list, function(a, b) return a < b end)
  local count, text = {}, table.concat(list, " ")
  for w in text:gmatch("%a+") do count[w:sub(1, 2)] = (count[w:sub(1, 2)] or 0) + 1 end
  local keys = {}
  for k in pairs(count) do keys[#keys + 1] = k end
  table.sort(keys)
  local errors = 0
  local sum = round
  if jumps then
    for _ = 1, 50 do
      if not pcall(fail, 10) then errors = errors + 1 end
    end
    local numbers = coroutine.wrap(function()
      for i = 1, 2000 do coroutine.yield(i) end
    end)
    for _ = 1, 2000 do sum = sum + numbers() end
  end
  local lines = {}
  for i = 1, 500 do lines[i] = string.format("%05d %-8s %x", i, list[i], i * sum) end
  print(round, #keys, keys[1], keys[#keys], errors, sum, lines[500], #text:gsub("[aeiou]", "%0%0"))
end
