package ledger

import (
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

func TestABlockedPersonIsSuppressedForTheCompany(t *testing.T) {
	origin := func(string) campaign.Origin { return campaign.Origin{Company: "co_1"} }
	for feed, want := range map[messaging.Feed]string{
		messaging.FeedBlocked: "all@co_1", messaging.FeedOptOut: "marketing", messaging.FeedUnreachable: "unreachable",
	} {
		s := campaign.NewSuppression(1, "+15555550101", campaign.ScopeOf(feed), "refused:x", time.Now())
		r := campaign.Result{Connection: "conn_1", Suppress: &s}
		if got := (Options{Origin: origin}).SuppressionOf(&r).ScopeText(); got != want {
			t.Errorf("feed %d: got %s, want %s", feed, got, want)
		}
	}
}
