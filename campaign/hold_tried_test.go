package campaign

import (
	"strconv"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

// Over the Cloud API a refusal whose cause a person removes begins a hold that is tried. One of
// another connector, of another cause, or of a failed status is not: the tried row would be lost.
func TestAHoldIsTriedIfARefusalBeganIt(t *testing.T) {
	now := second(100)
	platform := whole
	platform.Platform = true
	for code, tried := range map[int]bool{131005: true, 131030: true, 131031: true, 131037: true, 131042: true, 131045: true, 133010: true,
		33: false, 190: false, 368: false, 131048: false} {
		what := messaging.Failed(code)
		e := &messaging.Error{Proof: messaging.NotSent, Hold: what.Hold, EndedBy: what.EndedBy, Platform: code}
		for _, o := range []Origin{whole, platform} {
			want := tried && o.Platform
			h, _ := RefusalHold(e, o, now, now)
			manual := !want && (o.Platform && h.Scope == HoldConnection || code == 33)
			if h.Reason != strconv.Itoa(code) || h.Tried() != want || h.Manual != manual || want && !h.Until.Equal(now.Add(time.Minute)) {
				t.Errorf("a refusal with %d, platform %v: got %+v, want tried %v, manual %v", code, o.Platform, h, want, manual)
			}
			if f, _ := FailureHold(code, o, now, now); f.Tried() || !f.Until.IsZero() {
				t.Errorf("a failed status with %d, platform %v: got %+v, want a hold that is not tried", code, o.Platform, f)
			}
		}
	}
	// A refused try doubles the rest, up to an hour. An accepted row that fails later ends the tries.
	e := &messaging.Error{Proof: messaging.NotSent, Hold: messaging.HoldAccount, Platform: 131042}
	h := Hold{}
	for _, want := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		now = now.Add(time.Second)
		next, _ := RefusalHold(e, platform, now, now)
		if h, _ = h.Renew(next, LastLifts{}, now); h.Until.Sub(now) != time.Duration(want)*time.Minute || !h.Tried() {
			t.Fatalf("got %+v at %v, want a rest of %d minutes", h, now, want)
		}
		late, _ := h.Renew(next, LastLifts{}, now.Add(time.Second)) // another request that was under way
		if !late.Until.Equal(h.Until) || late.Count != h.Count {
			t.Errorf("a second refusal at once: got %+v, want the rest of %+v", late, h)
		}
		now = h.Until
	}
	lift := Lift{Scope: h.Scope, ID: h.ID, Reason: h.Reason, At: now, By: HoldByBreaker}
	if !h.Probing(now) || !lift.Ends(h) {
		t.Errorf("got %+v, want that an accepted try ends it", h)
	}
	if lift.At = h.Latest.Add(-time.Second); lift.Ends(h) {
		t.Errorf("got the end of %+v by a row that was posted before its refusal, want none", h)
	}
	if lift.At, lift.Reason = now, "breaker"; lift.Ends(h) {
		t.Errorf("got the end of %+v by its breaker, want none", h)
	}
	f, _ := FailureHold(131042, platform, now, now)
	if h, _ = h.Renew(f, LastLifts{}, now); h.Tried() || !h.InForce(now.AddDate(1, 0, 0)) {
		t.Errorf("got %+v after an accepted row failed, want a hold that is not tried", h)
	}
}
