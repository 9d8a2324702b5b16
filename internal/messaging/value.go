package messaging

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxDepth is the deepest nesting of JSON that is read. The deepest known body is the platform's
// envelope inside the service's: 11 levels.
const maxDepth = 64

var (
	errNotJSON = errors.New("not JSON")
	errDepth   = errors.New("JSON nested deeper than 64")
)

// value is one JSON value inside a text that parse has found valid. A walk over its members costs
// no allocation and no reflection, and it skips the members that the caller does not read. Large
// integers keep all digits. If a key is repeated, the caller sees both. encoding/json checks the
// syntax and decodes strings with escapes.
type value []byte

// parse validates text and returns its one value.
func parse(text []byte) (value, error) {
	depth, most := 0, 0
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = value(text).quoteEnd(i)
			continue
		case '{', '[':
			depth++
			most = max(most, depth)
		case '}', ']':
			depth--
		}
		i++
	}
	if most > maxDepth {
		return nil, errDepth
	}
	if !json.Valid(text) {
		return nil, errNotJSON
	}
	v := value(text)
	start := v.space(0)
	return v[start:v.end(start)], nil
}

// space returns the index of the first byte at or after i that is not white space.
func (v value) space(i int) int {
	for i < len(v) && (v[i] == ' ' || v[i] == '\n' || v[i] == '\r' || v[i] == '\t') {
		i++
	}
	return i
}

// end returns the index after the value that starts at i.
func (v value) end(i int) int {
	if i >= len(v) {
		return i
	}
	switch v[i] {
	case '"':
		return v.quoteEnd(i)
	case '{', '[':
		depth := 0
		for i < len(v) {
			switch v[i] {
			case '"':
				i = v.quoteEnd(i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return i
	}
	for i < len(v) {
		switch v[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

// quoteEnd returns the index after the string that starts at i, or the length of a text that breaks
// off.
func (v value) quoteEnd(i int) int {
	for i++; i < len(v); {
		quote := bytes.IndexByte(v[i:], '"')
		if quote < 0 {
			return len(v)
		}
		escape := bytes.IndexByte(v[i:i+quote], '\\')
		if escape < 0 {
			return i + quote + 1
		}
		i += escape + 2
	}
	return len(v)
}

func (v value) isObject() bool { return len(v) > 0 && v[0] == '{' }
func (v value) isArray() bool  { return len(v) > 0 && v[0] == '[' }
func (v value) isString() bool { return len(v) > 0 && v[0] == '"' }
func (v value) isNull() bool   { return len(v) == 0 || v[0] == 'n' }

// members walks an object or an array. next moves to the next member, which is then key and val.
type members struct {
	in  value
	at  int
	key []byte // decoded; only of an object
	val value
}

// members returns a walk that begins before the first member. A value that is no object and no
// array has no members.
func (v value) members() members {
	if !v.isObject() && !v.isArray() {
		return members{}
	}
	return members{in: v, at: 1}
}

func (m *members) next() bool {
	i := m.in.space(m.at)
	if i < len(m.in) && m.in[i] == ',' {
		i = m.in.space(i + 1)
	}
	if i >= len(m.in)-1 {
		return false
	}
	if m.in[0] == '{' {
		end := m.in.quoteEnd(i)
		m.key = m.in[i+1 : end-1]
		for _, c := range m.key {
			if c == '\\' {
				m.key = []byte(m.in[i:end].text())
				break
			}
		}
		i = m.in.space(m.in.space(end) + 1) // the colon
	}
	end := m.in.end(i)
	m.val, m.at = m.in[i:end], end
	return true
}

// get returns the member of that name, or nil. If a key is repeated, the last one counts, as in
// encoding/json.
func (v value) get(name string) value {
	var found value
	if v.isObject() {
		for m := v.members(); m.next(); {
			if string(m.key) == name {
				found = m.val
			}
		}
	}
	return found
}

// text returns the contents of a string, the digits of a number, true or false; otherwise "".
func (v value) text() string {
	switch {
	case v.isNull() || v.isObject() || v.isArray():
		return ""
	case !v.isString():
		return string(v)
	}
	inner := v[1 : len(v)-1]
	for _, c := range inner {
		if c == '\\' {
			return v.decoded()
		}
	}
	if !utf8.Valid(inner) {
		return v.decoded()
	}
	return string(inner)
}

func (v value) decoded() string {
	var s string
	_ = json.Unmarshal(v, &s) // parse has found v valid
	return s
}

// integer returns a number, or the number in a string, without its fraction.
func (v value) integer() (int64, bool) {
	s := strings.TrimSpace(v.text())
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != f || f > 1<<62 || f < -(1<<62) {
		return 0, false
	}
	return int64(f), true
}

// flag returns a boolean, or the boolean in a string.
func (v value) flag() (b, ok bool) {
	switch v.text() {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// The limits of a stamp. A time outside counts as damaged. No real event is older than 2009; the
// limit is 2000, because the clock of a testing/synctest bubble begins then.
var (
	earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// stamp returns the time of a timestamp in UTC: RFC 3339, or a number in a string or an integer
// (docs/service.md#assumptions). The size of the number decides whether it is seconds, milliseconds
// or microseconds. Anything else is the zero time.
func (v value) stamp() time.Time {
	s := strings.TrimSpace(v.text())
	if s == "" {
		return time.Time{}
	}
	var t time.Time
	if len(s) > 10 && s[4] == '-' { // checked first, because a failed ParseInt allocates
		var err error
		if t, err = time.Parse(time.RFC3339Nano, s); err != nil {
			return time.Time{}
		}
	} else if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		switch {
		case n >= 1e14:
			t = time.UnixMicro(n)
		case n >= 1e11:
			t = time.UnixMilli(n)
		default:
			t = time.Unix(n, 0)
		}
	} else if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f < 1e11 {
		t = time.UnixMilli(int64(f * 1000))
	} else {
		return time.Time{}
	}
	if t.Before(earliest) || t.After(latest) {
		return time.Time{}
	}
	return t.UTC()
}
