package throttle

// answers are how the service took the messages of a key since the last lease.
type answers struct {
	stage               float64 // accepted and throttled are answers to messages of this stage
	accepted, throttled float64
	// Answers to messages that were sent before the stage began, at another rate.
	lateAccepted, lateThrottled float64
}

// note counts one answer.
func (a *answers) note(stage int64, throttled bool) {
	switch now := float64(stage) == a.stage; {
	case now && throttled:
		a.throttled++
	case now:
		a.accepted++
	case throttled:
		a.lateThrottled++
	default:
		a.lateAccepted++
	}
}

// turnTo begins a stage: answers of another one are late.
func (a *answers) turnTo(stage float64) {
	if stage == a.stage {
		return
	}
	*a = answers{stage: stage, lateAccepted: a.lateAccepted + a.accepted, lateThrottled: a.lateThrottled + a.throttled}
}

// take returns the answers and forgets them.
func (a *answers) take() answers {
	taken := *a
	*a = answers{stage: a.stage}
	return taken
}

// giveBack adds answers that were taken and did not arrive.
func (a *answers) giveBack(b answers) {
	b.turnTo(a.stage)
	a.accepted += b.accepted
	a.throttled += b.throttled
	a.lateAccepted += b.lateAccepted
	a.lateThrottled += b.lateThrottled
}
