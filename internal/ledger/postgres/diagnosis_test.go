//go:build unix

package postgres

import (
	"strings"
	"testing"
)

// Only a standby that every commit waited for is said to lose nothing.
func TestEachFailoverIsForetold(t *testing.T) {
	for _, c := range []struct {
		standbys, commit, want string
		nothing                bool // it may be accepted with --lost 0s
	}{
		{"", "on", "no standby is synchronous", false},
		{"", "remote_apply", "no standby is synchronous", false},
		{"second", "on", `synchronous_standby_names is "second"`, true},
		{"ANY 1 (a, b)", "remote_apply", "was synchronous to the end", true},
		{"second", "remote_write", "only if it did not fail", true},
	} {
		got := failover(c.standbys, c.commit)
		if !strings.Contains(got, c.want) || strings.Contains(got, "--lost 0s") != c.nothing ||
			!strings.Contains(got, "sending stops until `campaignd ledger quarantine`") {
			t.Errorf("standbys %q, %s: got %q, want %q, --lost 0s %v, and that sending stops", c.standbys, c.commit, got, c.want, c.nothing)
		}
	}
}
