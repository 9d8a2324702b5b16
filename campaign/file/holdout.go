package file

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
)

// Holdout keeps some of the people of a list from the campaign, by chance, so that what it brought
// can be compared with what they buy without it (docs/commerce.md#hold-out).
type Holdout struct {
	// Share of the people, from 0 to MostHeldOut.
	Share float64 `yaml:"share" json:"share"`
	// Salt chooses the people together with their phone numbers; default the name of the
	// campaign, so that all its runs hold out the same people.
	Salt string `yaml:"salt,omitempty" json:"salt,omitempty"`
}

// MostHeldOut is the largest share that a campaign may hold out.
const MostHeldOut = 0.9

const maxSalt = 200 // bytes

// Holds reports whether a phone key is held out of the campaign with this name.
func (h *Holdout) Holds(name string, key int64) bool {
	if h == nil || key == 0 {
		return false
	}
	text := append([]byte(cmp.Or(h.Salt, name)), 0)
	text = binary.BigEndian.AppendUint64(text, uint64(key)) //nolint:gosec // a hash
	sum := sha256.Sum256(text)
	return float64(binary.BigEndian.Uint64(sum[:8])>>11)/(1<<53) < h.Share // a draw from 0, below 1
}

func (s *Source) checkHoldout(h *Holdout) {
	switch {
	case h == nil:
	case h.Share < 0 || h.Share > MostHeldOut:
		s.at("holdout.share", fmt.Sprintf("%g; want a share of 0 to %g", h.Share, MostHeldOut), "0 holds out nobody")
	case len(h.Salt) > maxSalt:
		s.at("holdout.salt", fmt.Sprintf("%d bytes; want at most %d", len(h.Salt), maxSalt), "")
	}
}

// holdoutNotes describe the key holdout in the JSON Schema.
func holdoutNotes() []note {
	return []note{
		{path: "holdout", text: "Keep some of the people from the campaign, by chance, to compare what they buy."},
		{path: "holdout.share", text: "The share of the people.", examples: []any{0.1},
			more: func(s *jsonschema.Schema) {
				s.Minimum, s.Maximum = "0", json.Number(fmt.Sprint(MostHeldOut))
			}},
		{path: "holdout.salt", text: "Chooses the people together with their phone numbers; default the campaign's name, for all its runs.",
			more: func(s *jsonschema.Schema) { s.MinLength = ptr(1) }},
	}
}
