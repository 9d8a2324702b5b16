package reception

import (
	"context"
	"maps"
	"strings"
	"time"
)

// Signatures is what the ledger knows of the signatures of webhooks, over all processes. Requests
// without a signature count for nothing. Anybody can post a wrong signature, so a refusal alone
// holds nothing and asks for nothing: it is told to the operator.
type Signatures struct {
	// Since and Last are the times of the first and the last signed request that was refused, and
	// Count is how many were. They begin anew with a refusal after others were mended.
	Since time.Time `json:"since,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Count int64     `json:"count,omitempty"`
	// Apps is how many of Count were signed in the form of the platform's apps.
	Apps int64 `json:"apps,omitempty"`
	// Verified tells when an event was verified last, by the fingerprint of the secret; AppSecret for
	// the secret of an app.
	Verified map[string]time.Time `json:"verified,omitempty"`
	// Endpoints tells which endpoint a secret was made for, by its fingerprint, as far as a
	// registration told.
	Endpoints map[string]string `json:"endpoints,omitempty"`
	// Dark is the first refusal since the last verified event; zero: none.
	Dark time.Time `json:"dark,omitzero"`
	// Mended is when an event was verified after refusals with a secret that had verified none before
	// them: theirs was added to webhooks.secrets.
	Mended time.Time `json:"mended,omitzero"`
	// A replay is to bring the events that were refused since Owed; zero: no replay is owed. Asked is
	// when a replay was asked for last.
	Owed  time.Time `json:"owed,omitzero"`
	Asked time.Time `json:"asked,omitzero"`
}

// SignatureNote is what a process adds to Signatures.
type SignatureNote struct {
	First, Last time.Time            // of the wrong signatures
	Wrong       int64                // how many came
	Apps        int64                // as Signatures.Apps
	Verified    map[string]time.Time // as Signatures.Verified
	Endpoints   map[string]string    // as Signatures.Endpoints
}

// AppSecret is the key that Signatures.Verified has for the secret of an app of the platform.
func AppSecret(fingerprint string) string { return appSecret + fingerprint }

const appSecret = "app "

// Empty reports whether the note adds nothing.
func (n SignatureNote) Empty() bool { return n.Wrong == 0 && len(n.Verified)+len(n.Endpoints) == 0 }

// SignatureLedger keeps what is known of the signatures of webhooks.
type SignatureLedger interface {
	// NoteSignatures adds a note (Signatures.With). A replay that is returned is asked for by no
	// other process.
	NoteSignatures(ctx context.Context, n SignatureNote, now time.Time) (s Signatures, replay time.Time, err error)
	Signatures(ctx context.Context) (Signatures, error)
}

const (
	// refusedMended is how long after the last refusal, with events verified since, the fault counts
	// as mended.
	refusedMended = 10 * time.Minute
	// refusedKept is how long refusals count after which no event was verified. The service repeats a
	// refused event for 8 h 36 min.
	refusedKept = 24 * time.Hour
	// refusedOutage is how long no event is verified between refusals and the next verified one for a
	// replay to be due. The service repeats after one minute by itself.
	refusedOutage = 2 * time.Minute
	// refusedReplays is the least time between two replays.
	refusedReplays = time.Hour
	// sameTime is how far apart two secrets verify events that the service posts to two endpoints:
	// each process notes once a minute.
	sameTime = 5 * time.Minute
)

// LastVerified is when an event was verified last with any secret.
func (s Signatures) LastVerified() (last time.Time) {
	for _, at := range s.Verified {
		last = Later(last, at)
	}
	return last
}

// With returns s with a note added, and since when the events are to be asked for that were
// refused; zero: none now. A replay is due when an event was verified after refusals without one,
// at most every refusedReplays.
func (s Signatures) With(n SignatureNote, now time.Time) (next Signatures, replay time.Time) {
	before := s.LastVerified()
	verified := maps.Clone(s.Verified)
	maps.DeleteFunc(verified, func(_ string, at time.Time) bool { return now.Sub(at) > ListenKept })
	if verified == nil {
		verified = map[string]time.Time{}
	}
	for secret, at := range n.Verified {
		if _, known := verified[secret]; !known && s.Count > 0 && at.After(s.Last) {
			s.Mended = at
		}
		verified[secret] = Later(verified[secret], at)
	}
	s.Verified = verified
	if len(n.Endpoints) > 0 {
		s.Endpoints = maps.Clone(s.Endpoints)
		if s.Endpoints == nil {
			s.Endpoints = map[string]string{}
		}
		maps.Copy(s.Endpoints, n.Endpoints)
	}
	if n.Wrong > 0 {
		mended := s.Mended.After(s.Last) || before.After(s.Last) && n.First.Sub(s.Last) > refusedMended
		if s.Count == 0 || mended || n.First.Sub(s.Last) > refusedKept {
			s.Since, s.Count, s.Apps = n.First, 0, 0
		}
		s.Count += n.Wrong
		s.Apps += n.Apps
		s.Last = Later(s.Last, n.Last)
		if s.Dark.IsZero() {
			s.Dark = n.First
		}
	}
	if last := s.LastVerified(); !s.Dark.IsZero() && last.After(s.Dark) {
		if last.Sub(s.Dark) > refusedOutage && s.Owed.IsZero() {
			s.Owed = s.Dark
		}
		s.Dark = time.Time{}
		if n.Wrong > 0 && n.Last.After(last) {
			s.Dark = n.Last
		}
	}
	if !s.Owed.IsZero() && now.Sub(s.Asked) >= refusedReplays {
		replay, s.Owed, s.Asked = s.Owed, time.Time{}, now
	}
	return s, replay
}

// Refused reports whether requests are refused at now. None means that no event was verified since,
// so that neither statuses nor opt-outs are seen.
func (s Signatures) Refused(now time.Time) (refused, none bool) {
	last := s.LastVerified()
	none = last.Before(s.Since) || s.Last.Sub(last) > sameTime // two endpoints get an event at about the same time
	if s.Count == 0 || s.Mended.After(s.Last) || none && now.Sub(s.Last) > refusedKept || !none && now.Sub(s.Last) > refusedMended {
		return false, false
	}
	return true, none
}

// OfApps reports whether only events of the platform's apps were refused.
func (s Signatures) OfApps() bool { return s.Count > 0 && s.Apps == s.Count }

// Works reports whether events were verified lately with the secret of an endpoint other than id,
// so that id can be removed. It is true if no event was verified at all. others are the other
// endpoints with the address of this intake.
func (s Signatures) Works(id string, others []string) bool {
	s.Verified = maps.Clone(s.Verified)
	maps.DeleteFunc(s.Verified, func(secret string, _ time.Time) bool { return strings.HasPrefix(secret, appSecret) })
	last := s.LastVerified()
	if last.IsZero() {
		return true
	}
	if len(others) == 0 {
		return false
	}
	working := 0
	known := map[string]string{} // fingerprints by endpoint
	for secret, endpoint := range s.Endpoints {
		known[endpoint] = secret
	}
	works := func(secret string) bool { at := s.Verified[secret]; return !at.IsZero() && last.Sub(at) <= sameTime }
	for secret := range s.Verified {
		if works(secret) {
			working++
		}
	}
	if secret, ok := known[id]; ok && !works(secret) {
		return true
	}
	for _, other := range others {
		if secret, ok := known[other]; ok && works(secret) {
			return true
		}
	}
	return working > 1
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
