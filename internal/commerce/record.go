package commerce

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// errForm is the fault of a value. It never holds the value, which may be a person's.
var errForm = errors.New("not in the form of the document")

// text is a string. Another kind of value is the empty text: members that are no text are not
// needed where it is used.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
	}
	return nil
}

// Amount is an amount of money. The platform writes JSON numbers; a string is read too. null is 0.
type Amount struct{ decimal.Decimal }

// The bounds of an amount: 30 digits before the point and 10 after it. More would be a fault, and
// an exponent of a billion would take the memory of this process.
const (
	maxWhole    = 30
	maxFraction = 10
	maxWritten  = 48 // bytes
)

// UnmarshalJSON implements json.Unmarshaler.
func (a *Amount) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	s := strings.Trim(string(b), `"`)
	if len(s) > maxWritten {
		return errForm
	}
	d, err := decimal.NewFromString(s)
	if err != nil || d.Exponent() < -maxFraction || d.NumDigits()+int(d.Exponent()) > maxWhole {
		return errForm
	}
	a.Decimal = d
	return nil
}

// MarshalJSON writes a JSON number.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// Time is an instant; the zero value is null.
type Time struct{ time.Time }

// UnmarshalJSON reads RFC 3339, null and the empty text.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s *string
	if json.Unmarshal(b, &s) != nil {
		return errForm
	}
	if s == nil || *s == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, *s)
	if err != nil {
		return errForm
	}
	t.Time = at.UTC()
	return nil
}

// Metadata has the members of a metadata object that are text, a number or a boolean, as text.
// Objects and lists in it are left out. The platform may write an empty object as [].
type Metadata map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (m *Metadata) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(b, &members) != nil {
		var list []json.RawMessage
		if json.Unmarshal(b, &list) != nil || len(list) > 0 {
			return errForm
		}
	}
	*m = nil
	for name, value := range members {
		var s string
		switch {
		case json.Unmarshal(value, &s) == nil && string(value) != "null":
		case len(value) > 0 && strings.IndexByte(`{[n`, value[0]) < 0:
			s = string(value)
		default:
			continue
		}
		if *m == nil {
			*m = Metadata{}
		}
		(*m)[name] = s
	}
	return nil
}

// Tags are the names of tags. The platform writes each as text or as {"name": ...}.
type Tags []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Tags) UnmarshalJSON(b []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		return errForm
	}
	*t = nil
	for _, item := range list {
		var s string
		var object struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(item, &s) != nil {
			if json.Unmarshal(item, &object) != nil {
				return errForm
			}
			s = object.Name
		}
		if s != "" {
			*t = append(*t, s)
		}
	}
	return nil
}
