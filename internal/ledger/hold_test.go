package ledger

import (
	"slices"
	"testing"

	"campaignd/campaign"
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
