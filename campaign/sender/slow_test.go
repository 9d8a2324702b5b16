package sender

import (
	"testing"
	"time"
)

// After a slow commit a group shrinks by a tenth with each commit that is quick, so that one slow commit does not make it
// jump to and fro.
func TestAGroupShrinksByATenthPerQuickCommit(t *testing.T) {
	_, all := gathering(t, &desk{}, 1)
	p := all[0].planner
	p.took(100 * time.Millisecond)
	for i, want := range []time.Duration{180 * time.Millisecond, 162 * time.Millisecond, 145_800 * time.Microsecond} {
		p.took(3 * time.Millisecond)
		if got := p.slow; got != want {
			t.Errorf("a group covers %v after %d quick commits, want %v", got, i+1, want)
		}
	}
}
