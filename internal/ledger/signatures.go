package ledger

import (
	"encoding/json"
	"time"

	"campaignd/campaign/reception"
)

// NoteSignatures adds a note to the stored state, and returns the state and its new text.
func NoteSignatures(text string, n reception.SignatureNote, now time.Time) (next string, s reception.Signatures, replay time.Time,
	err error) {
	if s, err = SignaturesOf(text); err != nil {
		return "", s, replay, err
	}
	s, replay = s.With(n, now.UTC())
	out, err := json.Marshal(s)
	return string(out), s, replay, err
}

// SignaturesOf reads the stored state.
func SignaturesOf(text string) (s reception.Signatures, err error) {
	return s, json.Unmarshal([]byte(text), &s)
}
