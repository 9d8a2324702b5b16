-- The processes of one number share here what they know of its traffic: the arithmetic of share.go,
-- whose comments explain it.
--
-- KEYS[1]  {n:<key>}:way  a hash: heard, when an event last came in; m<minute>, the most messages
--                         of one of its seconds; p<process>, when a process last shared and what
--                         it measured. Expires 11 minutes after the last call
-- KEYS[2]  {n:<key>}:in   a hash: messages that came in, by their second since 1970, for 10
--                         minutes; swept, up to where older ones are removed; since, when the hash
--                         began. Expires 11 minutes after the last call
-- ARGV[1]  the process, ARGV[2] what it measured; '': nothing
-- ARGV[3]  1 when it heard an event since its last call; else 0
-- ARGV[4]  and further: a second, and how many messages came in then
--
-- Returns {most, quiet, heard, since, measured...}: the most messages of a second in 10 minutes and
-- in the quietest of them, 1 if an event came in then, when the count began, and what each process
-- measured that shared in the last minute.
--
-- Clock: Redis TIME; the seconds are those of the service's clock.

local way, inbound, time = KEYS[1], KEYS[2], redis.call('TIME')
local now = tonumber(time[1])

if ARGV[2] ~= '' then redis.call('HSET', way, 'p' .. ARGV[1], now .. ' ' .. ARGV[2]) end
if ARGV[3] == '1' then redis.call('HSET', way, 'heard', now) end
for i = 4, #ARGV, 2 do
  local n = redis.call('HINCRBY', inbound, ARGV[i], ARGV[i + 1])
  local minute = 'm' .. math.floor(tonumber(ARGV[i]) / 60)
  if n > tonumber(redis.call('HGET', way, minute) or '0') then redis.call('HSET', way, minute, n) end
end
if #ARGV > 3 then
  local first = now - 660
  local swept = tonumber(redis.call('HGET', inbound, 'swept') or '0')
  for second = math.max(swept, first - 660), first - 1 do redis.call('HDEL', inbound, second) end
  redis.call('HSET', inbound, 'swept', first)
end
redis.call('HSETNX', inbound, 'since', time[1] .. '.' .. time[2])

local minute = math.floor(now / 60)
local heard, minutes, measured, all = 0, {}, {}, redis.call('HGETALL', way)
for i = 1, #all, 2 do
  local kind, name, value = string.sub(all[i], 1, 1), string.sub(all[i], 2), all[i + 1]
  local space = string.find(value, ' ')
  if kind == 'h' then
    if now - tonumber(value) < 600 then heard = 1 end
  elseif kind == 'm' then
    if tonumber(name) < minute - 10 then redis.call('HDEL', way, all[i]) end
    minutes[tonumber(name)] = tonumber(value)
  elseif now - tonumber(string.sub(value, 1, space - 1)) > 60 then
    redis.call('HDEL', way, all[i])
  else
    measured[#measured + 1] = string.sub(value, space + 1)
  end
end
local most, quiet = minutes[minute] or 0, minutes[minute - 10] or 0
for past = minute - 10, minute - 1 do
  most, quiet = math.max(most, minutes[past] or 0), math.min(quiet, minutes[past] or 0)
end
redis.call('PEXPIRE', way, 660000)
redis.call('PEXPIRE', inbound, 660000)
return {most, quiet, heard, redis.call('HGET', inbound, 'since'), unpack(measured)}
