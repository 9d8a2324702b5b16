package campaign

import (
	"strconv"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

func TestARefusalHoldsWhatItSaysMustStop(t *testing.T) {
	t.Parallel()
	posted, now := second(0), second(2)
	only := Origin{Connection: "n"}
	for name, c := range map[string]struct {
		err   messaging.Error
		o     Origin
		scope HoldScope
		id    string
		until time.Time
	}{
		"Key":     {messaging.Error{Hold: messaging.HoldKey}, whole, HoldKey, "k", time.Time{}},
		"Company": {messaging.Error{Hold: messaging.HoldCompany}, whole, HoldCompany, "c", time.Time{}},
		"Account": {messaging.Error{Hold: messaging.HoldAccount}, whole, HoldAccount, "a", time.Time{}},
		"Connection": {messaging.Error{Hold: messaging.HoldConnection, EndedBy: messaging.EndedByTime, Wait: time.Minute},
			whole, HoldConnection, "n",
			second(62)},
		"Template":        {messaging.Error{Hold: messaging.HoldTemplate}, whole, HoldTemplate, "a/sale/en", time.Time{}},
		"UnknownCompany":  {messaging.Error{Hold: messaging.HoldCompany}, only, HoldConnection, "n", time.Time{}},
		"UnknownTemplate": {messaging.Error{Hold: messaging.HoldTemplate}, only, "", "", time.Time{}},
		"UnknownAll":      {messaging.Error{Hold: messaging.HoldKey}, Origin{}, "", "", time.Time{}},
		"Payload":         {messaging.Error{Hold: messaging.HoldPayload}, whole, "", "", time.Time{}},
		"Nothing":         {messaging.Error{}, whole, "", "", time.Time{}},
		"RetryAfter":      {messaging.Error{Action: messaging.Slow, Wait: 3 * time.Second}, whole, HoldConnection, "n", second(5)},
		"ShortRetryAfter": {messaging.Error{Action: messaging.Slow, Wait: 2 * time.Second}, whole, "", "", time.Time{}},
		"SlowWithoutWait": {messaging.Error{Action: messaging.Slow}, whole, "", "", time.Time{}},
		"MayBeSent":       {messaging.Error{Proof: messaging.Doubt, Hold: messaging.HoldKey}, whole, "", "", time.Time{}},
	} {
		if c.err.Proof == 0 {
			c.err.Proof = messaging.NotSent
		}
		c.err.Code = "some_code"
		h, ok := RefusalHold(&c.err, c.o, posted, now)
		if ok != (c.scope != "") || ok && (h.Scope != c.scope || h.ID != c.id || h.Reason != "some_code" || h.Source != HoldByRefusal ||
			h.Detail == "" || !h.Since.Equal(posted) || !h.Until.Equal(c.until)) {
			t.Errorf("%s: holds %+v, %v; want %s %q for some_code since %s until %s", name, h, ok, c.scope, c.id, posted, c.until)
		}
	}
	refused := messaging.Error{Proof: messaging.NotSent, Hold: messaging.HoldAccount, Code: "send_policy", Platform: 131042}
	h, _ := RefusalHold(&refused, whole, posted, now)
	if want := "131042"; h.Reason != want {
		t.Errorf("reason %q, want the platform's code %q", h.Reason, want)
	}
}

func TestAFailedStatusHoldsWhatItsCodeSays(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]Hold{
		368:    {Scope: HoldAccount, ID: "a"},
		190:    {Scope: HoldConnection, ID: "n"},
		132015: {Scope: HoldTemplate, ID: "a/sale/en"},
		131042: {Scope: HoldAccount, ID: "a"},
		131026: {},
		999999: {},
	} {
		got, ok := FailureHold(code, whole, time.Time{}, second(0))
		if ok != (want.Scope != "") || got.Scope != want.Scope || got.ID != want.ID {
			t.Errorf("%d holds %+v, %v; want %s %q", code, got, ok, want.Scope, want.ID)
		}
		if !ok {
			continue
		}
		until := time.Time{}
		if f := messaging.Failed(code); f.EndedBy == messaging.EndedByTime {
			until = second(0).Add(f.Wait)
		}
		if got.Reason != strconv.Itoa(code) || got.Source != HoldByStatus || !got.Since.Equal(second(0)) || got.Detail == "" ||
			!got.Until.Equal(until) {
			t.Errorf("%d holds %+v; want its code, by a status since %s until %s, with a sentence", code, got, second(0), until)
		}
	}
}

func TestAFailureIsAsOldAsItsMessage(t *testing.T) {
	t.Parallel()
	h, _ := FailureHold(131064, whole, second(-60), second(0))
	if want := second(0).Add(messaging.Failed(131064).Wait); !h.Since.Equal(second(-60)) || !h.Until.Equal(want) {
		t.Errorf("holds since %s until %s; want since the acceptance at %s, and the wait from the event on, until %s",
			h.Since, h.Until, second(-60), want)
	}
	if h, _ := FailureHold(131042, whole, second(5), second(0)); !h.Since.Equal(second(0)) {
		t.Errorf("by a clock that is ahead: since %s, want %s", h.Since, second(0))
	}
}
