package throttle

// Observe notes an answer as Limiter says.
func (r *Redis) Observe(key string, stage int64, throttled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remember(key).answers.note(stage, throttled)
}

// cubicKey is the key of the multiplier's state.
func (r *Redis) cubicKey(key string) string {
	return "{n:" + key + "}:cubic"
}

func (r *Redis) take(m *memory) answers {
	r.mu.Lock()
	defer r.mu.Unlock()
	return m.answers.take()
}

func (r *Redis) giveBack(m *memory, a answers) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.answers.giveBack(a)
}

func (r *Redis) turnTo(m *memory, stage int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.answers.turnTo(float64(stage))
}

// args are the arguments of the script that the multiplier needs.
func (a answers) args(part float64) []any {
	return []any{int64(a.stage), a.accepted, a.throttled, a.lateAccepted, a.lateThrottled, part}
}
