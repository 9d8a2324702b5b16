package sender

// signal wakes the one goroutine that receives from it. Sending never blocks, and several sends
// before it looks are one. A nil signal wakes nobody.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}
