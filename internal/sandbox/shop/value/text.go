package value

import "encoding/json"

// Text is a text that answers show as null if it is empty.
type Text string

// MarshalJSON writes the text, or null.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// Object is a JSON object that is kept as it was given. In an answer it is never null.
type Object map[string]any

// MarshalJSON writes the object.
func (o Object) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]any(o))
}

// UnmarshalJSON makes a new object, because a copy of a record shares the one that it has.
func (o *Object) UnmarshalJSON(raw []byte) error {
	var next map[string]any
	if err := json.Unmarshal(raw, &next); err != nil {
		return wrongType[Object]()
	}
	if next != nil {
		*o = next
	}
	return nil
}

// Values is a list that is kept as it was given. In an answer it is never null.
type Values []any

// MarshalJSON writes the list.
func (v Values) MarshalJSON() ([]byte, error) {
	if v == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]any(v))
}

// UnmarshalJSON makes a new list, because a copy of a record shares the one that it has.
func (v *Values) UnmarshalJSON(raw []byte) error {
	var next []any
	if err := json.Unmarshal(raw, &next); err != nil {
		return wrongType[Values]()
	}
	if next != nil {
		*v = next
	}
	return nil
}
