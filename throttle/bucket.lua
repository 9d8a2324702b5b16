-- Leases units of a quota: how many messages a period has. quotalocal.go is the same arithmetic,
-- and one suite tests both.
--
-- KEYS[1]  {c:<ledger>:<key>}:units  the hash of the count; lives a day longer than the period:
--            run         run id of the server that counts: the marker. Without it, or with another
--                        server's, the count is lost and nothing is leased
--            from        the period of the count
--            generation  of the count; 0: none
--            used        units used or leased
--            leased      1: since the count was built
--            built       when the count was built
--            since       when its loss was noticed; 0: it is known
--            counting    when a caller was last told to count
-- ARGV[1]  the period: from, and [2] to, exclusive
-- ARGV[3]  units of the period, and [4] how many of them are kept
-- ARGV[5]  how many are wanted; 0: units are only given back
-- ARGV[6]  1: the caller may have what is kept
-- ARGV[7]  how many are given back, and [8] of which generation
-- ARGV[9]  how long after a loss nothing is leased
-- ARGV[10] the most units of a lease, [11] the part of what is left, [12] the least
-- ARGV[13] how long a caller has to count, and [14] how often an empty quota is counted again
-- ARGV[15] how soon an empty quota is asked again
--
-- Returns {granted, reserved, generation, wait, rebuild, empty}, as Units; numbers above 2^53
-- do not occur. generation and rebuild are strings.
--
-- Clock: Redis TIME, never the caller's. All times are microseconds.

local key = KEYS[1]
local from, to = tonumber(ARGV[1]), tonumber(ARGV[2])
local limit, kept = tonumber(ARGV[3]), tonumber(ARGV[4])
local wanted, reserve = tonumber(ARGV[5]), ARGV[6] == '1'
local back, backOf = tonumber(ARGV[7]), ARGV[8]
local after = tonumber(ARGV[9])
local most, part, least = tonumber(ARGV[10]), tonumber(ARGV[11]), tonumber(ARGV[12])
local countFor, recountAfter, again = tonumber(ARGV[13]), tonumber(ARGV[14]), tonumber(ARGV[15])

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''

if now < from or now >= to then
  return {0, 0, '0', math.max(math.min(from - now, again), 1000), '0', 0}
end

local stored = redis.call('HMGET', key, 'run', 'from', 'generation', 'used', 'leased', 'built', 'since', 'counting')
local function number(i) return tonumber(stored[i] or '') or 0 end
local mine = stored[1] == server and server ~= '' and number(2) == from
local generation, used, leased, built = number(3), number(4), number(5), number(6)
local since, counting = number(7), number(8)

local function lose()
  generation, used, leased, built, since, counting = 0, 0, 0, 0, now, 0
end

local function answer(granted, reserved, wait, rebuild, empty)
  redis.call('HSET', key, 'run', server, 'from', string.format('%.0f', from), 'generation', string.format('%.0f', generation),
    'used', string.format('%.0f', used), 'leased', leased, 'built', string.format('%.0f', built),
    'since', string.format('%.0f', since), 'counting', string.format('%.0f', counting))
  redis.call('PEXPIRE', key, math.ceil((to - now) / 1000) + 86400000)
  return {granted, reserved, string.format('%.0f', generation), math.max(wait, 0), string.format('%.0f', rebuild), empty}
end

if not mine or since > now or generation == 0 and since == 0 then lose() end

if since == 0 then
  if backOf == string.format('%.0f', generation) then used = math.max(used - back, 0) end
  local left, reserved = limit - kept - used, 0
  if reserve and left <= 0 then left, reserved = limit - used, 1 end
  local granted = math.max(math.min(wanted, most, left, math.max(math.floor(left / part), least)), 0)
  used = used + granted
  if granted > 0 then leased = 1 end
  if granted > 0 or wanted == 0 then return answer(granted, reserved, 0, 0, 0) end
  if leased == 0 or now - built < recountAfter then return answer(0, reserved, math.min(to - now, again), 0, 1) end
  lose()
end

local wait = since + after - now
if wait > 0 then return answer(0, 0, wait, 0, 0) end
if now - counting < countFor and counting <= now then return answer(0, 0, again, 0, 0) end
if wanted == 0 then return answer(0, 0, 0, 0, 0) end
counting = now
return answer(0, 0, 0, since, 0)
