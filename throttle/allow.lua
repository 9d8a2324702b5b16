-- Permits uses of a key whose rate need not be even: GCRA in its virtual-scheduling form. The key
-- holds the theoretical arrival time (tat) of the next use.
--
-- KEYS[1]  {n:<ledger>:<key>}:gcra  the tat, microseconds of this Redis's clock as %.3f; lives a minute
--                          longer than it lies ahead
-- ARGV[1]  interval of the rate, microseconds
-- ARGV[2]  how many uses are wanted, 1 or more
-- ARGV[3]  burst: how far the tat may lie ahead after a use, microseconds; the interval or more
--
-- Returns {granted, wait}: wait is how many microseconds it takes until one more is granted, 0
-- when all were.
--
-- Clock: Redis TIME, never the caller's. A key that is lost starts anew, without a burst.

local interval = tonumber(ARGV[1])
local wanted = tonumber(ARGV[2])
local burst = tonumber(ARGV[3])

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

local tat = tonumber(redis.call('GET', KEYS[1]) or '')
-- New, or so far ahead that the clock stepped back: one use now, the next after an interval.
if not tat or tat > now + burst + 1000000 then tat = now + burst - interval end
-- Idle time earns a burst at most, and what a lower rate permitted is not waited out.
tat = math.min(math.max(tat, now), now + burst)

local granted = math.min(wanted, math.floor((now + burst - tat) / interval))
tat = tat + granted * interval
redis.call('SET', KEYS[1], string.format('%.3f', tat), 'PX', 60000 + math.ceil((tat - now) / 1000))
local wait = 0
if granted < wanted then wait = math.max(1, math.ceil(tat + interval - burst - now)) end
return {granted, wait}
