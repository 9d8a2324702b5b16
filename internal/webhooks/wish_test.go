package webhooks

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

func TestTheLaterWishHoldsWithinABatch(t *testing.T) {
	stop := func(key int64, minute int) campaign.Suppression {
		return campaign.Suppression{Key: key, Scope: campaign.ScopeMarketing, At: noon.Add(time.Duration(minute) * time.Minute)}
	}
	resume := func(key int64, own, received int) campaign.Suppression {
		s := stop(key, own)
		s.ReceivedAt = noon.Add(time.Duration(received) * time.Minute)
		return s
	}
	// An unreachable number is no wish: it is not older or newer than a resume.
	unreachable := campaign.Suppression{Key: 1, Scope: campaign.ScopeUnreachable, At: noon.Add(time.Hour)}
	stops := []campaign.Suppression{stop(1, 0), unreachable, stop(2, 5), stop(3, 3), stop(4, 1), stop(5, 1), stop(5, 9), stop(7, 2),
		stop(8, 2)}
	e := campaign.Events{
		Suppressions: stops,
		Lifted: []campaign.Suppression{resume(1, 1, 9), resume(2, 4, 9), resume(3, 3, 9), resume(5, 5, 9), resume(6, 1, 9),
			resume(7, 6, 2), resume(8, 6, 3)}, // they count from their receipts
	}
	keepLater(&e)
	if d := cmp.Diff(campaign.Events{
		Suppressions: stops,
		Lifted:       []campaign.Suppression{resume(1, 1, 9), resume(6, 1, 9), resume(8, 6, 3)},
	}, e); d != "" {
		t.Errorf("events -want +got:\n%s", d)
	}
}

func TestAWishForOneCompanyUndoesNoOther(t *testing.T) {
	wish := func(company string, minute int) campaign.Suppression {
		at := noon.Add(time.Duration(minute) * time.Minute)
		return campaign.Suppression{Key: 1, Company: company, Scope: campaign.ScopeMarketing, At: at, ReceivedAt: at}
	}
	e := campaign.Events{Suppressions: []campaign.Suppression{wish("comp_1", 5)},
		Lifted: []campaign.Suppression{wish("comp_2", 1), wish("comp_1", 3)}}
	keepLater(&e)
	if len(e.Suppressions) != 1 || len(e.Lifted) != 1 || e.Lifted[0].Company != "comp_2" {
		t.Errorf("got %+v, want the stop for comp_1 and the earlier resume for comp_2 alone", e)
	}
}

// If one body has a stop and a resume of one person, the later wish counts. The ledger lets the
// resume lift the stop of the same batch.
func TestTheLaterWishOfABodyIsStored(t *testing.T) {
	wish := func(value string, minute int) string {
		return fmt.Sprintf(`{"type":"preference.updated","data":{"wa_id":"15555550101","value":%q,"timestamp":%d}}`, value,
			noon.Add(time.Duration(minute)*time.Minute).Unix())
	}
	for body, want := range map[string][2]int{"[" + wish("stop", 0) + "," + wish("resume", 1) + "]": {1, 1},
		"[" + wish("stop", 1) + "," + wish("resume", 0) + "]": {1, 0}} {
		e, _ := folded(t, Options{}, body)
		if got := [2]int{len(e.Suppressions), len(e.Lifted)}; got != want {
			t.Errorf("%s: %v suppressed and lifted, want %v", body, got, want)
		}
	}
}
