package ledger

import (
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// The backends look for holds by these ids alone, so a missing one would be a hold that stops
// nothing.
func TestEveryHoldOfAnOriginIsLookedFor(t *testing.T) {
	t.Parallel()
	full := campaign.Origin{Key: "k", Company: "c", Account: "acc", Portfolio: "p", Connection: "conn_1", Template: "sale", Language: "en",
		Run: "spring-1"}
	for _, o := range []campaign.Origin{full, {Connection: "conn_1", Template: "sale", Language: "en"}, {}} {
		ids := HoldIDs(o)
		if len(ids) > 9 || slices.Contains(ids, "") {
			t.Errorf("the holds of %+v have the ids %q; want at most 9, and none empty", o, ids)
		}
		for _, scope := range campaign.HoldScopes {
			for _, id := range []string{campaign.HoldAny, o.Key, o.Company, o.Account, o.Portfolio, o.Connection, o.Run,
				campaign.TemplateID(o.Account, o.Template, o.Language), campaign.TemplateID("", o.Template, o.Language)} {
				if h := (campaign.Hold{Scope: scope, ID: id}); h.Stops(o) && !slices.Contains(ids, id) {
					t.Errorf("%s %q stops %+v, and is looked for as %q; want its id among these", scope, id, o, ids)
				}
			}
		}
	}
}

// A pause is told by the event of the platform and by the refusals of what was under way, in either
// order: one hold begins, which an approval ends.
func TestAPauseOfATemplateIsOneHold(t *testing.T) {
	t.Parallel()
	at := func(n int) time.Time { return time.Date(2026, 11, 25, 12, 0, n, 0, time.UTC) }
	hold := func(reason string, by campaign.HoldSource, n int) campaign.Hold {
		return campaign.Hold{Scope: campaign.HoldTemplate, ID: "acc/sale/en", Reason: reason, Detail: reason, Source: by, Since: at(n)}
	}
	paused, refused := hold("PAUSED", campaign.HoldByEvent, 1), hold("132015", campaign.HoldByRefusal, 2)
	failed, disabled := hold("132015", campaign.HoldByStatus, 3), hold("DISABLED", campaign.HoldByEvent, 4)
	disabled.Manual = true
	edited := hold(campaign.TemplateInReview, campaign.HoldByEvent, 2)
	operator, elsewhere := hold("operator", campaign.HoldByOperator, 5), refused
	elsewhere.ID = "acc/order/en"
	for name, c := range map[string]struct {
		holds []campaign.Hold
		want  []string
	}{
		"the event, then a refusal":   {[]campaign.Hold{paused, refused, failed}, []string{"PAUSED"}},
		"a refusal, then the event":   {[]campaign.Hold{refused, paused, failed}, []string{"132015"}},
		"it is edited later":          {[]campaign.Hold{paused, edited, refused}, []string{"PAUSED", "PENDING"}},
		"it is disabled later":        {[]campaign.Hold{paused, disabled}, []string{"DISABLED", "PAUSED"}},
		"the operator holds it too":   {[]campaign.Hold{paused, operator}, []string{"PAUSED", "operator"}},
		"another template is refused": {[]campaign.Hold{paused, elsewhere}, []string{"132015", "PAUSED"}},
	} {
		var s Holds
		for _, h := range c.holds {
			s.Add(h, at(10), at(10))
		}
		var got []string
		for _, h := range s.Began {
			got = append(got, h.Reason)
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: got the holds %q, want %q", name, got, c.want)
		}
		s.Lift(campaign.Lift{Scope: campaign.HoldTemplate, ID: "acc/sale/en", At: at(20), ReceivedAt: at(20), By: campaign.HoldByEvent}, at(21))
		for _, h := range s.rows {
			if ends := h.Reason != "" && !h.Manual && h.Source != campaign.HoldByOperator && h.ID == paused.ID; ends && h.InForce(at(22)) {
				t.Errorf("%s: an approval left the hold %s in force, want it ended", name, h.Reason)
			}
		}
	}
}

// A follow-up of an older run asks whether its template was edited since. The event of the edit may
// come after the one that approves the new text.
func TestALateEditIsStoredAsEnded(t *testing.T) {
	t.Parallel()
	at := func(n int) time.Time { return time.Date(2026, 11, 25, 12, 0, n, 0, time.UTC) }
	edit := func(n int) campaign.Hold {
		return campaign.Hold{Scope: campaign.HoldTemplate, ID: "acc/sale/en", Reason: campaign.TemplateInReview, Source: campaign.HoldByEvent,
			Since: at(n)}
	}
	lift := func(by campaign.HoldSource, n int) campaign.Lift {
		return campaign.Lift{Scope: campaign.HoldTemplate, ID: "acc/sale/en", At: at(n), ReceivedAt: at(n), By: by}
	}
	for name, c := range map[string]struct {
		come []any // holds and lifts
		want time.Time
	}{
		"after its approval":             {[]any{lift(campaign.HoldByEvent, 20), edit(10)}, at(10)},
		"after an operator lifted":       {[]any{lift(campaign.HoldByOperator, 20), edit(10)}, at(10)},
		"the second after its approval":  {[]any{edit(5), lift(campaign.HoldByEvent, 6), lift(campaign.HoldByEvent, 20), edit(10)}, at(10)},
		"the first after all":            {[]any{edit(10), lift(campaign.HoldByEvent, 20), edit(5)}, at(10)},
		"again":                          {[]any{edit(10), lift(campaign.HoldByEvent, 20), edit(10)}, at(10)},
		"late, after the operator's end": {[]any{edit(5), lift(campaign.HoldByOperator, 20), edit(10)}, at(10)},
	} {
		var s Holds
		for _, x := range c.come {
			switch x := x.(type) {
			case campaign.Hold:
				s.Add(x, at(30), at(30))
			case campaign.Lift:
				s.Lift(x, at(30))
			}
		}
		got := s.rows[keyOf(edit(0))]
		if last := reception.Later(got.Since, got.Latest); !last.Equal(c.want) || got.InForce(at(40)) || got.Lifted.Before(at(20)) {
			t.Errorf("%s: got the edit of %s, lifted at %s; want that of %s, lifted at %s", name, last, got.Lifted, c.want, at(20))
		}
	}
}

// Only an edit is asked for later. Any other old report leaves nothing.
func TestALatePauseIsNotStored(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for _, reason := range []string{"PAUSED", "REJECTED", "132015"} {
		var s Holds
		s.Lift(campaign.Lift{Scope: campaign.HoldTemplate, ID: "acc/sale/en", At: at, ReceivedAt: at, By: campaign.HoldByEvent}, at)
		s.Add(campaign.Hold{Scope: campaign.HoldTemplate, ID: "acc/sale/en", Reason: reason, Source: campaign.HoldByEvent,
			Since: at.Add(-time.Second)}, at, at)
		if got, want := len(s.rows), 1; got != want {
			t.Errorf("%s: got %d rows, want %d, that of the lift", reason, got, want)
		}
	}
}
