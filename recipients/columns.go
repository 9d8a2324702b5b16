package recipients

import (
	"encoding/json"
	"strings"
)

// Names are the columns of a field or a variable, as a list calls them. Only the phone may have
// several: of each row, the first cell that is filled is read. In a file it is a text or a list.
type Names []string

// UnmarshalYAML reads a name or a list of names.
func (n *Names) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if err := unmarshal(&one); err == nil {
		*n = Names{one}
		return nil
	}
	var all []string
	err := unmarshal(&all)
	*n = all
	return err
}

// MarshalYAML writes what UnmarshalYAML reads.
func (n Names) MarshalYAML() (any, error) {
	if len(n) == 1 {
		return n[0], nil
	}
	return []string(n), nil
}

// MarshalJSON writes one name as a text, and several as a list.
func (n Names) MarshalJSON() ([]byte, error) {
	if len(n) == 1 {
		return json.Marshal(n[0])
	}
	return json.Marshal([]string(n))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Names) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*n = Names{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(n))
}

// filled returns the column of the first cell of the phone that is not blank; the first column of
// the phone when all are.
func (h *header) filled(cells []string) int {
	if len(h.more) == 0 || strings.TrimSpace(cells[h.to]) != "" {
		return h.to
	}
	for _, i := range h.more {
		if strings.TrimSpace(cells[i]) != "" {
			return i
		}
	}
	return h.to
}
