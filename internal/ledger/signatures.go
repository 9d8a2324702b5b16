package ledger

import (
	"encoding/json"
	"time"

	"campaignd/campaign"
)

// NoteSignatures adds a note to the stored state, and returns the state and its new text.
func NoteSignatures(text string, n campaign.SignatureNote, now time.Time) (next string, s campaign.Signatures, replay time.Time,
	err error) {
	if s, err = SignaturesOf(text); err != nil {
		return "", s, replay, err
	}
	s, replay = s.With(n, now.UTC())
	out, err := json.Marshal(s)
	return string(out), s, replay, err
}

// SignaturesOf reads the stored state.
func SignaturesOf(text string) (s campaign.Signatures, err error) {
	return s, json.Unmarshal([]byte(text), &s)
}
