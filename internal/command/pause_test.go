package command

import (
	"context"
	"errors"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
)

// stubborn has paused runs, some of which cannot be resumed.
type stubborn struct {
	Operations
	fails map[string]error
}

func (s stubborn) Runs(context.Context, campaign.RunFilter) (all []resource.Run, err error) {
	for _, id := range []string{"a-1", "b-2", "c-3"} {
		all = append(all, resource.Run{ID: id, State: campaign.Paused, Wanted: campaign.WantPause, Reason: campaign.PausedByOperator})
	}
	return all, nil
}

func (s stubborn) Resume(_ context.Context, id string) (resource.Controlled, error) {
	return resource.Controlled{Run: resource.Run{ID: id}, Sentence: id + " goes on"}, s.fails[id]
}

// Run of b-2 is still paused; the others have ended.
func (s stubborn) Run(_ context.Context, id string) (resource.Run, error) {
	if id == "b-2" {
		return resource.Run{ID: id, State: campaign.Paused}, nil
	}
	return resource.Run{ID: id, State: campaign.Finished}, nil
}

// A run that cannot be resumed keeps no other one, and those that go on are named.
func TestARunThatIsNotResumedKeepsNoOther(t *testing.T) {
	busy := errors.New("the ledger is busy")
	for _, c := range []struct {
		about     string
		fails     map[string]error
		want      string
		wantError []string
	}{
		{"none fails", nil, "a-1 goes on\nb-2 goes on\nc-3 goes on\n", nil},
		{"one has ended meanwhile", map[string]error{"a-1": campaign.ErrNotNow}, "b-2 goes on\nc-3 goes on\n", nil},
		{"one waits for a replay", map[string]error{"b-2": campaign.ErrNotNow}, "a-1 goes on\nc-3 goes on\n", []string{"b-2 is not resumed"}},
		{"the first two fail", map[string]error{"a-1": busy, "b-2": busy}, "c-3 goes on\n", []string{"a-1 is not resumed", "b-2 is not resumed"}},
		{"all fail", map[string]error{"a-1": busy, "b-2": busy, "c-3": busy}, "", []string{"c-3 is not resumed: the ledger is busy"}},
	} {
		var out strings.Builder
		p := &Program{Stdout: &out, Local: func(_ context.Context, _ Purpose, do func(Operations) error) error {
			return do(stubborn{fails: c.fails})
		}}
		err := p.resumeAll(t.Context(), "", new(Output))
		if out.String() != c.want || (err != nil) != (c.wantError != nil) {
			t.Errorf("%s: got %q and %v, want %q and an error: %v", c.about, out.String(), err, c.want, c.wantError != nil)
		}
		for _, want := range c.wantError {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want an error with %q", c.about, err, want)
			}
		}
	}
}
