package sender

import "sync"

// pool runs functions in goroutines that it keeps until wait. A new goroutine for each request
// would copy its stack several times while it grows. It has as many as ran at once at most.
type pool struct {
	next    chan func()
	running sync.WaitGroup
}

func newPool() *pool { return &pool{next: make(chan func())} }

// run runs f in a goroutine. It must not be called after wait.
func (p *pool) run(f func()) {
	select {
	case p.next <- f:
	default:
		p.running.Go(func() {
			f()
			for f := range p.next {
				f()
			}
		})
	}
}

// wait returns when no function runs any more, and ends the goroutines.
func (p *pool) wait() {
	close(p.next)
	p.running.Wait()
}
