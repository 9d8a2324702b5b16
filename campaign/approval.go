package campaign

import (
	"bytes"
	"errors"
	"strconv"
)

// Approval says above how many recipients a run waits for `campaignd approve`. Its zero value is
// never. In a file it is true, false, or that number.
type Approval int64

// ApproveAlways is the value true.
const ApproveAlways Approval = -1

// Needed reports whether a run of so many recipients waits.
func (a Approval) Needed(recipients int64) bool {
	return a == ApproveAlways || a > 0 && recipients > int64(a)
}

// MarshalJSON writes what a file has.
func (a Approval) MarshalJSON() ([]byte, error) {
	if a == ApproveAlways {
		return []byte("true"), nil
	}
	return strconv.AppendInt(nil, int64(a), 10), nil
}

// UnmarshalYAML reads true, false or a number above 0.
func (a *Approval) UnmarshalYAML(text []byte) error {
	switch s := string(bytes.TrimSpace(text)); s { // a value before another key ends with its line
	case "true":
		*a = ApproveAlways
	case "false":
		*a = 0
	default:
		n, err := strconv.ParseInt(s, 0, 64)
		if err != nil || n < 1 {
			return errors.New("want true, false, or a number of recipients above 0")
		}
		*a = Approval(n)
	}
	return nil
}
