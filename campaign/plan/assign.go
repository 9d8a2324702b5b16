package plan

import "math"

// choose finds for each number of a run the block that it sends now.
func (f *fluid) choose(r *flowRun) {
	r.open, r.changes = false, math.Inf(1)
	for k := range r.current {
		r.current[k], r.flow[k] = -1, 0
	}
	if r.rows <= least || r.budget <= least || f.t >= r.until {
		r.rows = 0
		return
	}
	for r.first < len(r.blocks) && r.blocks[r.first].left <= 0 {
		r.first++
	}
	if f.t < r.from {
		return
	}
	f.release(r)
	taken := 0
	free := func(b *block, k int) bool { return b.number == r.numbers[k] }
	for pass := range 2 { // what a number has begun goes first, in the order of the list
		for i := r.first; i < len(r.blocks) && taken < len(r.numbers); i++ {
			b := &r.blocks[i]
			if b.left <= 0 || r.awaits && b.after {
				continue
			}
			open, changes := b.edges.at(f.t, &b.cursor)
			r.changes = math.Min(r.changes, changes)
			if !open {
				continue
			}
			r.open = true
			for k := range r.numbers {
				if r.current[k] >= 0 || f.t < f.numbers[r.numbers[k]].held || f.numbers[r.numbers[k]].pace == 0 {
					continue
				}
				if pass == 0 && free(b, k) || pass == 1 && b.number < 0 {
					r.current[k] = i
					taken++
					if pass == 1 {
						b.number = r.numbers[k]
					}
					break
				}
			}
		}
	}
	if r.run.Move {
		f.move(r)
	}
}

// release releases what waits for the run's canary: its wait begins with the canary's last answer.
// A canary is taken to be good; a bad one pauses its run.
func (f *fluid) release(r *flowRun) {
	if !r.awaits {
		return
	}
	if math.IsInf(r.release, 1) && r.canary <= least {
		r.release = f.t + f.latency + r.run.CanaryWait.Seconds()
	}
	if f.t >= r.release {
		r.awaits = false
		return
	}
	r.changes = math.Min(r.changes, r.release)
}

// move gives a part of the longest open block to each number of the run that has none, and both
// parts end together.
func (f *fluid) move(r *flowRun) {
	for k := range r.current {
		if r.current[k] >= 0 || f.t < f.numbers[r.numbers[k]].held || f.numbers[r.numbers[k]].pace == 0 {
			continue
		}
		longest := -1
		for i := r.first; i < len(r.blocks); i++ {
			b := &r.blocks[i]
			if b.bound || b.left < 2 || r.awaits && b.after || longest >= 0 && b.left <= r.blocks[longest].left {
				continue
			}
			if open, _ := b.edges.at(f.t, &b.cursor); open {
				longest = i
			}
		}
		if longest < 0 {
			return
		}
		half := r.blocks[longest]
		pace, owner := f.numbers[r.numbers[k]].pace, 0.0
		if half.number >= 0 {
			owner = f.numbers[half.number].pace
		}
		half.left *= pace / (pace + owner)
		half.number = r.numbers[k]
		r.blocks[longest].left -= half.left
		r.blocks = append(r.blocks, half)
		r.current[k] = len(r.blocks) - 1
	}
}
