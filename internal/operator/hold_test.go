package operator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
)

// A key of one company ends and changes the holds that keys of its company began, and those of the
// service. A hold of the operator of all companies stays.
func TestACompanyEndsNoHoldOfItsOperator(t *testing.T) {
	d, _ := session(t)
	d.Origins = func(context.Context, []campaign.Hold) func(string) campaign.Origin {
		return func(connection string) campaign.Origin {
			return campaign.Origin{Connection: connection, Company: "comp_1"}
		}
	}
	of := func(name, company string) *operator.Session {
		k, err := d.CreateKey(t.Context(), name, "operate", company, "")
		if err != nil {
			t.Fatal(err)
		}
		one := *d
		one.By, one.ByKey, one.Company = "key "+k.ID+" ("+name+")", true, company
		return &one
	}
	one, other, all := of("one", "comp_1"), of("other", "comp_1"), of("all", "")
	scope := campaign.HoldConnection
	add := func(by *operator.Session, id string) error {
		_, err := by.AddHold(t.Context(), resource.HoldRequest{Scope: scope, ID: id})
		return err
	}
	for id, by := range map[string]*operator.Session{"conn_key": all, "conn_user": d, "conn_own": other} {
		if err := add(by, id); err != nil {
			t.Fatal(err)
		}
	}
	refusal := campaign.Hold{Scope: scope, ID: "conn_refused", Reason: "131048", Source: campaign.HoldByRefusal, Since: time.Now().UTC()}
	if _, err := d.Ledger.AddHolds(t.Context(), []campaign.Hold{refusal}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"conn_key", "conn_user"} {
		for _, reason := range []string{"", "operator"} {
			ended, err := one.LiftHolds(t.Context(), resource.LiftRequest{Scope: scope, ID: id, Reason: reason})
			if !errors.Is(err, operator.ErrForbidden) {
				t.Errorf("lift %s %q: got %v and %v, want %v", id, reason, ended, err, operator.ErrForbidden)
			}
		}
		if err := add(one, id); !errors.Is(err, operator.ErrForbidden) {
			t.Errorf("add %s again: got %v, want %v", id, err, operator.ErrForbidden)
		}
	}
	if err := add(one, "conn_own"); err != nil {
		t.Errorf("add the hold of another key of the company again: got %v, want no error", err)
	}
	ended, err := one.LiftHolds(t.Context(), resource.LiftRequest{Reason: "operator"})
	if err != nil || len(ended) != 1 || ended[0].ID != "conn_own" {
		t.Errorf("lift by the reason: got %+v and %v, want conn_own", ended, err)
	}
	ended, err = one.LiftHolds(t.Context(), resource.LiftRequest{Scope: scope, ID: "conn_refused"})
	if err != nil || len(ended) != 1 {
		t.Errorf("lift what the service refused: got %+v and %v, want it", ended, err)
	}
	if left, err := d.LiftHolds(t.Context(), resource.LiftRequest{Reason: "operator"}); err != nil || len(left) != 2 {
		t.Errorf("the operator lifts the rest: got %+v and %v, want two holds", left, err)
	}
}
