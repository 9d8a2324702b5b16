package campaign

import "testing"

// A list gets about four segments for each connection, of at least 64 and at most SegmentSize rows.
func TestSegmentsSpreadAListOverItsConnections(t *testing.T) {
	for _, c := range []struct {
		rows        int64
		connections int
		want        int64
	}{
		{0, 1, 64}, {259, 1, 64}, {260, 1, 65}, {1000, 1, 250}, {1000, 2, 125}, {1000, 0, 250}, {1000, -1, 250},
		{16_384, 1, 4096}, {16_383, 1, 4095}, {1_000_000, 1, 4096}, {40_000, 10, 1000},
	} {
		if got := SegmentFor(c.rows, c.connections); got != c.want {
			t.Errorf("SegmentFor(%d, %d) = %d, want %d", c.rows, c.connections, got, c.want)
		}
	}
}
