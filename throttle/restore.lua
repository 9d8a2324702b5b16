-- Restores the count of a quota (bucket.lua) from the ledger.
--
-- KEYS[1]  {c:<ledger>:<key>}:units
-- ARGV[1]  the period: from
-- ARGV[2]  the number of the loss, as bucket.lua returned it: when it was noticed
-- ARGV[3]  units that the ledger counts as used
--
-- Returns 1; 0 when the count was lost again since, or is known already.
--
-- Clock: Redis TIME, microseconds.

local stored = redis.call('HMGET', KEYS[1], 'run', 'from', 'since')
local server = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
if stored[1] ~= server or stored[2] ~= ARGV[1] or stored[3] ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
redis.call('HSET', KEYS[1], 'generation', ARGV[2], 'used', ARGV[3], 'leased', 0, 'built', string.format('%.0f', now),
  'since', '0', 'counting', '0')
return 1
