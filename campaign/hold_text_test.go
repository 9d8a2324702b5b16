package campaign

import (
	"testing"
	"time"
)

var holdNoon = time.Date(2026, 9, 21, 12, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return holdNoon.Add(time.Duration(n) * time.Minute) }

func TestEachHoldIsOneSentence(t *testing.T) {
	now := holdNoon.Add(time.Minute)
	at := func(d time.Duration) time.Time { return holdNoon.Add(d) }
	for want, h := range map[string]Hold{
		"connection conn_1 is held since 2026-09-21 12:00:00 UTC: an operator holds it (maintenance); it ends at 2026-09-21 14:00:00 UTC; " +
			"`campaignd holds lift connection conn_1` ends it earlier": {
			Scope: HoldConnection, ID: "conn_1", Reason: "operator", Detail: "maintenance", Source: HoldByOperator, Until: at(2 * time.Hour)},
		"run spring-3 is held since 2026-09-21 12:00:00 UTC: an operator holds it; " +
			"only an operator ends it: `campaignd holds lift run spring-3`": {
			Scope: HoldRun, ID: "spring-3", Reason: "operator", Source: HoldByOperator},
		"everything that is sent from business account acc is held since 2026-09-21 12:00:00 UTC: the business account has a payment or " +
			"eligibility problem (131042); an event that the account is active again ends it; " +
			"`campaignd holds lift account acc` ends it earlier": {Scope: HoldAccount, ID: "acc", Reason: "131042", Source: HoldByStatus},
		"everything that is sent with the API key 8254c329a92850f6 is held since 2026-09-21 12:00:00 UTC: unauthorized, HTTP 401: no such key " +
			"(unauthorized); only an operator ends it, when its cause is gone: `campaignd holds lift key 8254c329a92850f6`": {
			Scope: HoldKey, ID: "8254c329a92850f6", Reason: "unauthorized", Detail: "unauthorized, HTTP 401: no such key", Source: HoldByRefusal},
		"everything that is sent for company co_1 is held since 2026-09-21 12:00:00 UTC: the service reports it as suspended (SUSPENDED); " +
			"an event that the company is active again ends it; `campaignd holds lift company co_1` ends it earlier": {
			Scope: HoldCompany, ID: "co_1", Reason: "SUSPENDED", Detail: "the service reports it as suspended", Source: HoldByEvent},
		"everything that is sent for company co_1 is held since 2026-09-21 12:00:00 UTC: the plan's monthly message allowance is used up " +
			"(plan_limit_messages); it is tried again at 2026-09-21 13:00:00 UTC; raise the allowance of the plan at the service, " +
			"and `campaignd holds lift company co_1` ends it then": {
			Scope: HoldCompany, ID: "co_1", Reason: "plan_limit_messages", Source: HoldByRefusal, Until: at(time.Hour)},
		"template promo (en_US) of account acc is held since 2026-09-21 12:00:00 UTC: " +
			"the platform has paused the template because of its quality " +
			"(PAUSED); the approval of the template ends it; `campaignd holds lift template acc/promo/en_US` ends it earlier": {
			Scope: HoldTemplate, ID: "acc/promo/en_US", Reason: "PAUSED", Detail: templateSentences["PAUSED"], Source: HoldByEvent},
		"template promo (en_US) of every account is held since 2026-09-21 12:00:00 UTC: the platform has disabled the template (DISABLED); " +
			"only an operator ends it: `campaignd holds lift template /promo/en_US`": {
			Scope: HoldTemplate, ID: "/promo/en_US", Reason: "DISABLED", Detail: templateSentences["DISABLED"], Source: HoldByEvent, Manual: true},
		"connection conn_1 is held since 2026-09-21 12:00:00 UTC: 20 of the last 25 requests prove nothing (breaker); a few requests test it " +
			"from 2026-09-21 12:01:10 UTC on; `campaignd holds lift connection conn_1` ends it earlier": {
			Scope: HoldConnection, ID: "conn_1", Reason: "breaker", Detail: "20 of the last 25 requests prove nothing", Source: HoldByBreaker,
			Until: at(70 * time.Second)},
		"connection conn_1 is tried with at most 3 requests at a time, since 2026-09-21 12:00:05 UTC: 20 of the last 25 requests prove nothing " +
			"(breaker); the first proven answer ends it, or `campaignd holds lift connection conn_1`": {
			Scope: HoldConnection, ID: "conn_1", Reason: "breaker", Detail: "20 of the last 25 requests prove nothing", Source: HoldByBreaker,
			Until: at(5 * time.Second)},
		"everything that is sent from any portfolio was held from 2026-09-21 12:00:00 UTC to 2026-09-21 12:00:30 UTC: an operator holds it; " +
			"an operator lifted it": {Scope: HoldPortfolio, ID: "*", Reason: "operator", Source: HoldByOperator,
			Lifted: at(30 * time.Second), LiftedBy: HoldByOperator},
		"connection it's was held from 2026-09-21 12:00:00 UTC to 2026-09-21 12:00:40 UTC: the number is in maintenance, for example while its " +
			"throughput is raised (131057); its time was over": {
			Scope: HoldConnection, ID: "it's", Reason: "131057", Source: HoldByRefusal, Until: at(40 * time.Second)},
	} {
		h.Since = holdNoon
		if got := h.Sentence(now); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got, want := (Hold{Scope: HoldConnection, ID: "it's"}).liftCommand(), `campaignd holds lift connection 'it'\''s'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s := Hold{Scope: HoldRun, ID: "a-1", Since: holdNoon, Until: at(30 * time.Second)}.State(now)
	if s.Ended == nil || !s.Ended.Equal(at(30*time.Second)) || s.Until == nil {
		t.Errorf("ended %v, until %v; want both at %v", s.Ended, s.Until, at(30*time.Second))
	}
}

func TestARunIsHeldWhenEachConnectionIs(t *testing.T) {
	run := Run{No: 1, Campaign: "spring", State: Running, Template: "promo", Language: "en_US",
		Definition: []byte("name: spring\nconnections: [a, b]\ntemplate: {name: promo, language: en_US}\n" +
			"recipients: {file: x.csv, columns: {to: phone}}\n")}
	of := func(c string) Origin { return Origin{Connection: c, Account: "acc_" + c, Company: "co"} }
	hold := func(scope HoldScope, id string) Hold { return Hold{Scope: scope, ID: id, Since: holdNoon} }
	for name, c := range map[string]struct {
		holds []Hold
		found int
		held  bool
	}{
		"nothing":                {nil, 0, false},
		"one connection":         {[]Hold{hold(HoldConnection, "a")}, 1, false},
		"both connections":       {[]Hold{hold(HoldConnection, "a"), hold(HoldAccount, "acc_b")}, 2, true},
		"the company":            {[]Hold{hold(HoldCompany, "co")}, 1, true},
		"another company":        {[]Hold{hold(HoldCompany, "co_2")}, 0, false},
		"one account's template": {[]Hold{hold(HoldTemplate, "acc_a/promo/en_US")}, 1, false},
		"the run":                {[]Hold{hold(HoldRun, "spring-1")}, 1, true},
	} {
		if got := len(RunHolds(run, c.holds, of, minute(1))); got != c.found {
			t.Errorf("%s: %d holds, want %d", name, got, c.found)
		}
		if _, held := Held(run, c.holds, of, minute(1)); held != c.held {
			t.Errorf("%s: held %t, want %t", name, held, c.held)
		}
		ended := run
		ended.State = Finished
		if got := len(RunHolds(ended, c.holds, of, minute(1))); got != 0 {
			t.Errorf("%s: %d holds of an ended run, want 0", name, got)
		}
	}
}

// A run goes on when one of its connections is free, so its wait is that of the first.
func TestARunWaitsForTheConnectionFreeFirst(t *testing.T) {
	run := Run{No: 1, Campaign: "spring", State: Running,
		Definition: []byte("name: spring\nconnections: [a, b, c]\ntemplate: {name: promo, language: en_US}\n" +
			"recipients: {file: x.csv, columns: {to: phone}}\n")}
	of := func(c string) Origin { return Origin{Connection: c} }
	hold := func(id, reason string, until time.Time) Hold {
		return Hold{Scope: HoldConnection, ID: id, Reason: reason, Since: holdNoon, Until: until}
	}
	holds := []Hold{hold("a", "131031", time.Time{}), hold("b", "2", minute(5)), hold("b", "131057", minute(3)), hold("c", "2", minute(9))}
	if got, held := Held(run, holds, of, minute(1)); !held || got != holds[1] {
		t.Errorf("held by %+v, %t; want by that of b until 12:05", got, held)
	}
}
