package webhooks

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"campaignd/campaign/reception"
	"campaignd/campaign/wording"
	"campaignd/internal/messaging"
)

// signatures are the wrong and the verified signatures that the ledger does not have yet, and its
// state as it was last noted.
type signatures struct {
	secrets  func() []messaging.Secret          // of the verifier, by index
	verified [messaging.MaxSecrets]atomic.Int64 // by secret: Unix nanoseconds of the last event of the service

	mu    sync.Mutex
	wrong reception.SignatureNote // without Verified
	apps  map[string]time.Time    // the last event of the platform, by reception.AppSecret
	noted time.Time               // when the ledger was written last
	known map[string]time.Time    // Verified of the last notes
	owed  bool                    // the ledger has a replay that is not due yet
	told  bool                    // the log has that events are refused
	none  bool                    // and that none was verified since
}

// signaturesEvery is the least time between two notes of a process. A note that changes what is
// told is written with the next reception.ListenEvery.
const signaturesEvery = 40 * time.Second

func newSignatures(secrets func() []messaging.Secret) *signatures {
	return &signatures{secrets: secrets, known: map[string]time.Time{}, apps: map[string]time.Time{}}
}

// refused counts a wrong signature; app means that it has the form of the platform's.
func (s *signatures) refused(at time.Time, app bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if app {
		s.wrong.Apps++
	}
	if s.wrong.Wrong++; s.wrong.First.IsZero() {
		s.wrong.First = at
	}
	s.wrong.Last = at
}

// app notes that an event of the platform was verified with the secret of an app.
func (s *signatures) app(secret string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apps[reception.AppSecret(secret)] = at
}

// take returns what is to be noted at now; false: nothing yet.
func (s *signatures) take(now time.Time, final bool) (n reception.SignatureNote, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.wrong
	n.Verified = maps.Clone(s.apps)
	for i, of := range s.secrets() {
		if at := s.verified[i].Load(); at != 0 {
			n.Verified[of.Fingerprint()] = time.Unix(0, at).UTC()
		}
	}
	maps.DeleteFunc(n.Verified, func(secret string, at time.Time) bool { return !at.After(s.known[secret]) })
	changes := n.Wrong > 0 && !s.told || len(n.Verified) > 0 && s.none
	if n.Empty() && !s.owed || !final && !changes && now.Sub(s.noted) < signaturesEvery {
		return n, false
	}
	s.wrong = reception.SignatureNote{}
	return n, true
}

// back keeps a note that the ledger did not take.
func (s *signatures) back(n reception.SignatureNote) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.Wrong > 0 {
		if s.wrong.Wrong += n.Wrong; s.wrong.Last.IsZero() {
			s.wrong.Last = n.Last
		}
		s.wrong.Apps += n.Apps
		s.wrong.First = n.First
	}
}

// set takes the state of the ledger, and reports whether its refusals have to be told, or their
// end.
func (s *signatures) set(n reception.SignatureNote, stored reception.Signatures, now time.Time) (refused string, mended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for secret, at := range n.Verified {
		s.known[secret] = at
	}
	s.noted, s.owed = now, !stored.Owed.IsZero()
	refused, s.none = wording.Refused(stored, now)
	tell := (refused != "") != s.told
	s.told = refused != ""
	if !tell {
		refused = ""
	}
	return refused, tell && !s.told
}

// noteSignatures writes into the ledger what came since the last note, and asks for a replay that
// is due. It is called every reception.ListenEvery, and a last time when the intake ends.
func (i *Intake) noteSignatures(ctx context.Context, final bool) {
	now := time.Now().UTC()
	n, due := i.signs.take(now, final)
	if !due {
		return
	}
	s, replay, err := i.ledger.NoteSignatures(ctx, n, now)
	if err != nil {
		i.signs.back(n) // the writer tells that the ledger is away
		return
	}
	switch refused, mended := i.signs.set(n, s, now); {
	case refused != "":
		i.o.Log.Warn(refused)
	case mended:
		i.o.Log.Info("no event is refused for its signature any more")
	}
	if !replay.IsZero() && i.o.Replay != nil {
		i.o.Replay(replay)
	}
}
