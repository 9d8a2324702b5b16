package postgres

import (
	"strings"
	"testing"
)

// Nothing is granted when the commit moved fewer marks or retries than were decided.
func TestACommitOfFewerGrantsIsAnError(t *testing.T) {
	for _, c := range []struct {
		marked, begun int64
		want          string
	}{
		{2, 3, ""}, {1, 3, "1 of 2 marks and 3 of 3 retries moved under their lock"},
		{2, 2, "2 of 2 marks and 2 of 3 retries moved under their lock"},
		{3, 3, "3 of 2 marks"}, {2, 4, "4 of 3 retries"}, {0, 0, "0 of 2 marks and 0 of 3 retries"},
	} {
		g := &grants{segments: map[int64]*segment{1: {wrote: true}, 2: {wrote: true}, 3: {}}, retryRids: []int64{7, 8, 9},
			marked: c.marked, begun: c.begun}
		if err := g.check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d marks and %d retries: got %v, want %q", c.marked, c.begun, err, c.want)
		}
	}
}
