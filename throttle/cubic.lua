-- The adaptive multiplier of one number, shared by all that send from it: the arithmetic of
-- cubic.go, whose comments explain it, line by line. A test drives both. slots.lua follows in the
-- same script and calls adapt.
--
-- adapt(key, now, ceiling, a, seen)
--   key      the hash of the state; expires ten minutes after the last call
--   now      microseconds of this Redis's clock
--   ceiling  the number's pace, messages per second
--   a        {stage, accepted, throttled, lateAccepted, lateThrottled}: what the caller heard since
--            its last lease; the late ones answer messages that were sent before the stage
--   seen     the multiplier that the caller was told last; 1: none. A state that is lost goes on
--            from there
--
-- Returns the part of the ceiling to send at, and the stage. A number that was never throttled has
-- no key, and costs no write.

-- The hash says settled for cooled of cubic.go: replicas of other versions share it.
local fields = {'part', 'base', 'peak', 'grown', 'stage', 'settled', 'probing', 'refused', 'step',
  'answered', 'throttled', 'used', 'early', 'earlyThrottled', 'excess', 'low', 'lowThrottled',
  'high', 'highThrottled'}

local function count(c, kind, memory, n, t)
  c[kind] = c[kind] + n
  c[kind .. 'Throttled'] = c[kind .. 'Throttled'] + t
  if c[kind] > memory then
    c[kind] = c[kind] / 2
    c[kind .. 'Throttled'] = c[kind .. 'Throttled'] / 2
  end
end

local function cut(c, now)
  local beta = 0.7
  if c.settled == 1 and c.stage ~= 0 and math.abs(c.part - c.peak) < 0.12 * c.peak then beta = 0.85 end
  c.peak = c.part
  c.part = math.max(c.part * beta, 0.02)
  c.base, c.grown, c.excess, c.used = c.part, 0, 0, 0
  c.stage, c.settled, c.early, c.earlyThrottled = now, 0, 0, 0
end

local function restart(c, now, part)
  c.part, c.base, c.peak, c.grown, c.excess = part, part, part, 0, 0
  c.stage, c.settled, c.probing, c.refused = now, 1, 0, 0
  c.step, c.answered, c.throttled, c.used = now, 0, 0, 0
end

local function coolDown(c, now, a)
  count(c, 'high', 500, a.lateAccepted + a.lateThrottled, a.lateThrottled)
  c.early = c.early + a.accepted + a.throttled
  c.earlyThrottled = c.earlyThrottled + a.throttled
  if c.earlyThrottled >= 3 and c.earlyThrottled >= 0.3 * c.early then
    cut(c, now)
  elseif now - c.stage >= 1000000 then
    c.settled, c.stage = 1, now
  end
end

local function noise(c, ceiling)
  local most, fall = 0.12, 0.33
  if ceiling < 40 then most, fall = 0.05, 0.5 end
  return c.lowThrottled >= 2 and c.lowThrottled <= most * c.low and
    c.lowThrottled * c.high >= fall * (c.highThrottled - 1) * c.low
end

local function decide(c, now, ceiling, a)
  local n = a.accepted + a.throttled
  if c.part < 0.95 * c.peak then
    count(c, 'low', 1000, n, a.throttled)
  else
    count(c, 'high', 500, n, a.throttled)
  end
  local pass, most = 0, 1
  if ceiling >= 500 then pass, most = 0.002, 2 end
  if noise(c, ceiling) then pass, most = math.max(pass, 2 * c.lowThrottled / c.low), 4 end
  c.excess = math.max(0, c.excess + a.throttled - pass * n)
  if a.throttled > 0 and c.excess >= most then cut(c, now) end
end

local function grow(c, ceiling)
  local scale = math.min(0.4 / ceiling, 0.01 * c.peak)
  c.grown = c.grown + math.max(0.5, 1 / (c.part * ceiling))
  local x = c.grown - ((c.peak - c.base) / scale) ^ (1 / 3)
  c.part = math.min(1, math.max(c.part, c.peak + scale * x * x * x))
end

local function endStep(c, now, ceiling)
  if c.throttled > 0 and c.throttled >= 0.9 * c.answered then
    c.refused = c.refused + 1
  elseif c.answered > 0 then
    c.refused = 0
  end
  if c.refused >= 2 then
    c.probing, c.stage = 1, now
  elseif c.used > 0 and c.used >= 0.5 * c.part * ceiling * 0.5 then
    grow(c, ceiling)
  end
  c.step = c.step + 500000
  if now - c.step >= 500000 then c.step = now end
  c.answered, c.throttled, c.used = 0, 0, 0
end

local function observe(c, now, ceiling, a)
  c.answered = c.answered + a.accepted + a.throttled + a.lateAccepted + a.lateThrottled
  c.throttled = c.throttled + a.throttled + a.lateThrottled
  if c.probing == 1 then
    if a.accepted > 0 then restart(c, now, math.max(0.1, math.min(1 / ceiling, 1))) end
    return
  end
  if c.settled == 1 then
    c.used = c.used + a.accepted + a.throttled
    decide(c, now, ceiling, a)
  else
    coolDown(c, now, a)
  end
  if now - c.step >= 500000 then endStep(c, now, ceiling) end
end

local function adapt(key, now, ceiling, a, seen)
  local calm = a.throttled + a.lateThrottled == 0 and seen >= 1
  if calm and redis.call('EXISTS', key) == 0 then return 1, 0 end
  local c, stored = {}, redis.call('HMGET', key, unpack(fields))
  for i, field in ipairs(fields) do c[field] = tonumber(stored[i] or '') or 0 end
  if c.part == 0 or c.step > now + 1000000 then -- none, or the clock stepped back
    if calm then return 1, 0 end
    for _, field in ipairs(fields) do c[field] = 0 end
    c.part, c.base, c.peak, c.step, c.settled = 1, 1, 1, now, 1
    if seen < 1 then restart(c, now, math.max(seen, 0.02)) end
  end
  if a.stage ~= c.stage then
    a.lateAccepted, a.lateThrottled = a.lateAccepted + a.accepted, a.lateThrottled + a.throttled
    a.accepted, a.throttled = 0, 0
  end
  observe(c, now, ceiling, a)
  local write = {}
  for _, field in ipairs(fields) do
    write[#write + 1] = field
    write[#write + 1] = string.format('%.17g', c[field])
  end
  redis.call('HSET', key, unpack(write))
  redis.call('PEXPIRE', key, 600000)
  local part = c.part
  if c.probing == 1 then part = math.min(1 / ceiling, 1) end
  return part, c.stage
end
