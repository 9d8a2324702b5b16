-- Leases consecutive send instants of one number: a token bucket in its
-- virtual-scheduling form. The key is a cursor, the next free instant.
--
-- KEYS[1]  {n:<key>}:tat  the cursor, microseconds of this Redis's clock as %.3f;
--                         lives a minute longer than it lies ahead
-- ARGV[1]  interval between two instants, microseconds
-- ARGV[2]  how many instants are wanted, 1 or more
-- ARGV[3]  horizon: no instant later than this from now, microseconds
-- ARGV[4]  guard: where a cursor that cannot be trusted starts, microseconds from now.
--          More than the horizon, so that no lease of before the loss is met
-- ARGV[5]  the cursor as the caller last saw it, after a lease of its own; 0: never
-- ARGV[6]  1 when the caller had an error since, or speaks to another server; else 0
--
-- Returns {granted, now, first, cursor, reset}; now, first and cursor are strings of
-- microseconds (a Lua number would lose its fraction on the way out). first is the first
-- instant granted, or with granted 0 the first free one, beyond the horizon. reset is 1
-- when the cursor lay so far ahead that it was a mistake: what the caller remembers of
-- it is one too.
--
-- Clock: Redis TIME, never the caller's. Charges what it grants, not what was asked.

local interval = tonumber(ARGV[1])
local wanted = tonumber(ARGV[2])
local horizon = tonumber(ARGV[3])
local guard = tonumber(ARGV[4])
local seen = tonumber(ARGV[5])

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local stored = tonumber(redis.call('GET', KEYS[1]) or '')
local cursor = stored
local reset = 0

-- Lost (flushed, evicted, an empty restart) or never there.
if not cursor then cursor = now + guard end
-- Rewound (an old copy came back): a healthy cursor never lies before what a caller saw.
if seen > cursor + interval / 2 then cursor = math.max(seen, now + guard) end
-- In doubt: others may have been granted what nobody remembers.
if ARGV[6] == '1' then cursor = math.max(cursor, now + guard) end
-- Absurdly far ahead (the clock stepped back, a bad write): an hour's step must not mean an
-- hour's silence. No lease in hand reaches beyond the horizon.
if cursor > now + horizon + guard + interval + 1000000 then
  cursor = now + horizon + math.max(guard, interval)
  reset = 1
end
-- Idle time earns nothing.
if cursor < now then cursor = now end

local granted = 0
if cursor <= now + horizon then
  granted = math.min(wanted, math.floor((now + horizon - cursor) / interval) + 1)
end

local first = cursor
cursor = cursor + granted * interval
if cursor ~= stored then
  redis.call('SET', KEYS[1], string.format('%.3f', cursor),
    'PX', 60000 + math.ceil((cursor - now) / 1000))
end
return {granted, string.format('%.0f', now), string.format('%.3f', first),
  string.format('%.3f', cursor), reset}
