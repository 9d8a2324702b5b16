-- Leases consecutive send instants of one number: a GCRA with a burst of one, in its
-- virtual-scheduling form. The key holds a cursor, the next free instant.
--
-- KEYS[1]  {n:<key>}:tat  the cursor, microseconds of this Redis's clock as %.3f;
--                         expires a minute after the instant it names
-- KEYS[2]  {n:<key>}:cubic  the state of the multiplier (cubic.lua)
-- ARGV[1]  interval between two instants at the full rate, microseconds
-- ARGV[2]  how many instants are wanted, 1 or more
-- ARGV[3]  horizon: no instant is later than this from now, microseconds
-- ARGV[4]  guard: how far ahead a cursor starts that cannot be trusted, microseconds.
--          More than the horizon, so that it meets no lease given before the loss
-- ARGV[5]  the cursor that the caller saw after its own last lease; 0: none
-- ARGV[6]  1 when the caller had an error since, or speaks to another server; else 0
-- ARGV[7]  to [11]  what the caller heard since its last lease: stage, accepted, throttled,
--          accepted and throttled of earlier stages
-- ARGV[12] the multiplier that the caller was told last; 1: none
--
-- Returns {granted, now, first, cursor, reset, part, stage}. now, first and cursor are strings of
-- microseconds, because a number in a reply loses its fraction. first is the first
-- instant granted; with granted 0 it is the first free one, beyond the horizon. reset
-- is 1 when the cursor lay so far ahead that it was a mistake: the caller then takes
-- over the new cursor in place of the one it remembers. part is the multiplier: the
-- slots lie interval / part apart. stage goes with the answers to them.
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

local part, stage = adapt(KEYS[2], now, 1e6 / interval, {
  stage = tonumber(ARGV[7]), accepted = tonumber(ARGV[8]), throttled = tonumber(ARGV[9]),
  lateAccepted = tonumber(ARGV[10]), lateThrottled = tonumber(ARGV[11]),
}, tonumber(ARGV[12]))
if part < 1 then interval = math.ceil(interval * 1000 / part) / 1000 end

-- Missing: never there, or lost (flushed, evicted, an empty restart).
if not cursor then cursor = now + guard end
-- Rewound (an old copy came back): a healthy cursor never lies before one that a caller saw.
if seen > cursor + interval / 2 then cursor = math.max(seen, now + guard) end
-- In doubt: other callers may hold instants that this cursor does not include.
if ARGV[6] == '1' then cursor = math.max(cursor, now + guard) end
-- Absurdly far ahead (the clock stepped back, a bad write). A step of an hour must not mean
-- an hour of silence, and no lease in hand reaches beyond the horizon.
if cursor > now + horizon + guard + interval + 1000000 then
  cursor = now + horizon + math.max(guard, interval)
  reset = 1
end
-- Idle time earns no credit.
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
  string.format('%.3f', cursor), reset, string.format('%.17g', part), string.format('%.0f', stage)}
