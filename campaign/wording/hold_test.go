package wording

import (
	"testing"
	"time"

	"campaignd/campaign"
)

var holdNoon = time.Date(2026, 9, 21, 12, 0, 0, 0, time.UTC)

func TestEachHoldIsOneSentence(t *testing.T) {
	now := holdNoon.Add(time.Minute)
	at := func(d time.Duration) time.Time { return holdNoon.Add(d) }
	for want, h := range map[string]campaign.Hold{
		"connection conn_1 is held since 2026-09-21 12:00:00 UTC: an operator holds it (maintenance); it ends at 2026-09-21 14:00:00 UTC; " +
			"`campaignd holds lift connection conn_1` ends it earlier": {
			Scope: campaign.HoldConnection, ID: "conn_1", Reason: "operator",
			Detail: "maintenance", Source: campaign.HoldByOperator, Until: at(2 * time.Hour)},
		"run spring-3 is held since 2026-09-21 12:00:00 UTC: ada holds it; " +
			"only an operator ends it: `campaignd holds lift run spring-3`": {
			Scope: campaign.HoldRun, ID: "spring-3", Reason: "operator", Source: campaign.HoldByOperator, Who: "ada"},
		"everything that is sent from business account acc is held since 2026-09-21 12:00:00 UTC: the business account has a payment or " +
			"eligibility problem (131042); an event that the account is active again ends it; " +
			"`campaignd holds lift account acc` ends it earlier": {
			Scope: campaign.HoldAccount, ID: "acc", Reason: "131042", Source: campaign.HoldByStatus},
		"everything that is sent with the API key 8254c329a92850f6 is held since 2026-09-21 12:00:00 UTC: unauthorized, HTTP 401: no such key " +
			"(unauthorized); only an operator ends it, when its cause is gone: `campaignd holds lift key 8254c329a92850f6`": {
			Scope: campaign.HoldKey, ID: "8254c329a92850f6", Reason: "unauthorized",
			Detail: "unauthorized, HTTP 401: no such key", Source: campaign.HoldByRefusal},
		"everything that is sent for company co_1 is held since 2026-09-21 12:00:00 UTC: the service reports it as suspended (SUSPENDED); " +
			"an event that the company is active again ends it; `campaignd holds lift company co_1` ends it earlier": {
			Scope: campaign.HoldCompany, ID: "co_1", Reason: "SUSPENDED",
			Detail: "the service reports it as suspended", Source: campaign.HoldByEvent},
		"everything that is sent for company co_1 is held since 2026-09-21 12:00:00 UTC: the plan's monthly message allowance is used up " +
			"(plan_limit_messages); it is tried again at 2026-09-21 13:00:00 UTC; raise the allowance of the plan at the service, " +
			"and `campaignd holds lift company co_1` ends it then": {
			Scope: campaign.HoldCompany, ID: "co_1", Reason: "plan_limit_messages", Source: campaign.HoldByRefusal, Until: at(time.Hour)},
		"template promo (en_US) of account acc is held since 2026-09-21 12:00:00 UTC: " +
			"the platform has paused the template because of its quality " +
			"(PAUSED); the approval of the template ends it; `campaignd holds lift template acc/promo/en_US` ends it earlier": {
			Scope: campaign.HoldTemplate, ID: "acc/promo/en_US", Reason: "PAUSED",
			Detail: "the platform has paused the template because of its quality", Source: campaign.HoldByEvent},
		"template promo (en_US) of every account is held since 2026-09-21 12:00:00 UTC: the platform has disabled the template (DISABLED); " +
			"only an operator ends it: `campaignd holds lift template /promo/en_US`": {
			Scope: campaign.HoldTemplate, ID: "/promo/en_US", Reason: "DISABLED",
			Detail: "the platform has disabled the template", Source: campaign.HoldByEvent, Manual: true},
		"connection conn_1 is held since 2026-09-21 12:00:00 UTC: 20 of the last 25 requests prove nothing (breaker); a few requests test it " +
			"from 2026-09-21 12:01:10 UTC on; `campaignd holds lift connection conn_1` ends it earlier": {
			Scope: campaign.HoldConnection, ID: "conn_1", Reason: "breaker",
			Detail: "20 of the last 25 requests prove nothing", Source: campaign.HoldByBreaker,
			Until: at(70 * time.Second)},
		"connection conn_1 is tried with at most 3 requests at a time, since 2026-09-21 12:00:05 UTC: 20 of the last 25 requests prove nothing " +
			"(breaker); the first proven answer ends it, or `campaignd holds lift connection conn_1`": {
			Scope: campaign.HoldConnection, ID: "conn_1", Reason: "breaker",
			Detail: "20 of the last 25 requests prove nothing", Source: campaign.HoldByBreaker,
			Until: at(5 * time.Second)},
		"everything that is sent from business account acc is held since 2026-09-21 12:00:00 UTC: the business account has a payment or " +
			"eligibility problem (131042); remove its cause at the platform: from 2026-09-21 12:01:10 UTC on one queued row tries it, and " +
			"stays queued if it is refused; the next try is then up to an hour later, the first accepted one ends the hold, and " +
			"`campaignd holds lift account acc` ends it earlier": {
			Scope: campaign.HoldAccount, ID: "acc", Reason: "131042", Source: campaign.HoldByRefusal, Until: at(70 * time.Second)},
		"connection conn_1 is tried with one queued row at a time, since 2026-09-21 12:00:05 UTC: the number's display name is not approved " +
			"(131037); the row stays queued if it is refused again; the first accepted one ends the hold; " +
			"`campaignd holds lift connection conn_1` ends the hold": {
			Scope: campaign.HoldConnection, ID: "conn_1", Reason: "131037", Source: campaign.HoldByRefusal, Until: at(5 * time.Second)},
		"connection conn_1 is held since 2026-09-21 12:00:00 UTC: the platform's access token of this connection has expired (190); " +
			"another token in token_file of its account ends it, and so does a restart of campaignd; " +
			"`campaignd holds lift connection conn_1` ends it earlier": {
			Scope: campaign.HoldConnection, ID: "conn_1", Reason: "190", Source: campaign.HoldByRefusal, Manual: true},
		"everything that is sent from any portfolio was held from 2026-09-21 12:00:00 UTC to 2026-09-21 12:00:30 UTC: an operator holds it; " +
			"an operator lifted it": {Scope: campaign.HoldPortfolio, ID: "*", Reason: "operator", Source: campaign.HoldByOperator,
			Lifted: at(30 * time.Second), LiftedBy: campaign.HoldByOperator},
		"every run was held from 2026-09-21 12:00:00 UTC to 2026-09-21 12:00:30 UTC: ada holds it (a new line); nia lifted it": {
			Scope: campaign.HoldRun,
			ID:    "*", Reason: "operator", Detail: "a new line", Source: campaign.HoldByOperator, Who: "ada", Lifted: at(30 * time.Second),
			LiftedBy: campaign.HoldByOperator, LiftedWho: "nia"},
		"connection it's was held from 2026-09-21 12:00:00 UTC to 2026-09-21 12:00:40 UTC: the number is in maintenance, for example while its " +
			"throughput is raised (131057); its time was over": {
			Scope: campaign.HoldConnection, ID: "it's", Reason: "131057", Source: campaign.HoldByRefusal, Until: at(40 * time.Second)},
	} {
		h.Since = holdNoon
		if got := Hold(h, now); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	quoted := campaign.Hold{Scope: campaign.HoldConnection, ID: "it's"}
	if got, want := liftCommand(quoted), `campaignd holds lift connection 'it'\''s'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s := State(campaign.Hold{Scope: campaign.HoldRun, ID: "a-1", Since: holdNoon, Until: at(30 * time.Second)}, now)
	if s.Ended == nil || !s.Ended.Equal(at(30*time.Second)) || s.Until == nil {
		t.Errorf("ended %v, until %v; want both at %v", s.Ended, s.Until, at(30*time.Second))
	}
}
