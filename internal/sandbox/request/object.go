package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// field is the name of a member and where its value is stored.
type field struct {
	name string
	into any
}

// decodeObject decodes a whole body, which must be one JSON object with these fields and no others.
func decodeObject(raw []byte, what string, fields ...field) error {
	if !json.Valid(raw) {
		var v any
		return fmt.Errorf("%s is not JSON: %w", what, json.Unmarshal(raw, &v)) // the error tells the position
	}
	return members(raw, what, fields...)
}

// members decodes a valid JSON object into the named fields and refuses every other name. A member
// that is null counts as absent. members finds where each value begins and ends; assign decodes it.
// encoding/json is not used here, because it takes names in any case and its token stream costs
// more than all rules together.
func members(raw []byte, what string, fields ...field) error {
	i := space(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return fmt.Errorf("%s is not an object", what)
	}
	seen := 0
	for i = space(raw, i+1); raw[i] != '}'; i = space(raw, i) {
		if raw[i] == ',' {
			i = space(raw, i+1)
		}
		end := value(raw, i)
		name := raw[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 { // a name with escapes may be one of the document's names
			plain, err := text(raw[i:end])
			if err != nil {
				return err
			}
			name = []byte(plain)
		}
		i = space(raw, end) // the colon
		i = space(raw, i+1) // the value
		end = value(raw, i) // the end of the value
		which := -1
		for n, f := range fields {
			if f.name == string(name) {
				which = n
			}
		}
		switch {
		case which < 0:
			return fmt.Errorf("%s has an unknown field %q", what, name)
		case seen&(1<<which) != 0:
			return fmt.Errorf("%s.%s is given twice", what, name)
		}
		seen |= 1 << which
		if err := assign(fields[which].into, raw[i:end]); err != nil {
			return fmt.Errorf("%s.%s: %w", what, name, err)
		}
		i = end
	}
	return nil
}

// assign decodes one value. It decodes the types of frequent members itself and the others with
// encoding/json.
func assign(into any, raw []byte) (err error) {
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	switch v := into.(type) {
	case *string:
		*v, err = text(raw)
		return err
	case **Template:
		*v = new(Template)
		return (*v).UnmarshalJSON(raw)
	case **Header:
		*v = new(Header)
		return (*v).UnmarshalJSON(raw)
	case **Media:
		*v = new(Media)
		return (*v).UnmarshalJSON(raw)
	case *[]string:
		*v = []string{}
		return elements(raw, func(raw []byte) error {
			s, err := text(raw)
			*v = append(*v, s)
			return err
		})
	case *[]Button:
		return elements(raw, func(raw []byte) error {
			var b Button
			err := b.UnmarshalJSON(raw)
			*v = append(*v, b)
			return err
		})
	case *json.RawMessage: // the document does not show the members of the object
		if raw[0] != '{' {
			return errors.New("is not an object")
		}
	}
	return json.Unmarshal(raw, into)
}

var errNotText = errors.New("is not a string")

// text decodes a JSON string.
func text(raw []byte) (string, error) {
	if raw[0] != '"' {
		return "", errNotText
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// elements calls f with each element of a JSON array.
func elements(raw []byte, f func([]byte) error) error {
	if raw[0] != '[' {
		return errors.New("is not an array")
	}
	for i := space(raw, 1); raw[i] != ']'; i = space(raw, i) {
		if raw[i] == ',' {
			i = space(raw, i+1)
		}
		end := value(raw, i)
		if err := f(raw[i:end]); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// space is the first index from i on that is not white space.
func space(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r') {
		i++
	}
	return i
}

// value is the index after the value that begins at i. raw must be valid JSON.
func value(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the value was a number or a word
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}
