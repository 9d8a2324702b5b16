package plan

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// A number sends the rows that the import bound to it alone, also when others have nothing left to
// do.
func TestAForecastMovesNothingThatIsBound(t *testing.T) {
	def := &file.Definition{Name: "spring", Connections: []string{"a", "b"}, Limits: file.Limits{Move: true}}
	segment := func(i int64, bound string) campaign.SegmentState {
		s := campaign.Segment{Index: i, Lo: i * campaign.SegmentSize, Hi: i*campaign.SegmentSize + 4000, Bound: bound}
		return campaign.SegmentState{Segment: s, Mark: s.Lo, Connection: bound}
	}
	for _, c := range []struct {
		bound string
		want  float64 // seconds, about
	}{{"a", 400}, {"", 200}} {
		r, err := RunOf(campaign.Run{No: 1, Campaign: "spring"}, def, []campaign.SegmentState{segment(0, c.bound)})
		if err != nil {
			t.Fatal(err)
		}
		s := &Situation{Now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC),
			Numbers: []Number{{ID: "a", Pace: 10}, {ID: "b", Pace: 10}}, Runs: []Run{r}}
		if got := s.Forecast(0).Seconds; got < 0.98*c.want || got > 1.02*c.want {
			t.Errorf("bound to %q: done after %.0f s, want about %.0f", c.bound, got, c.want)
		}
	}
}
