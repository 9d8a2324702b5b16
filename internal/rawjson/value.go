// Package rawjson reads JSON without decoding it: a Value is one value inside a text, and a walk
// over its members reads only what the caller asks for. The clients of the services read answers
// and events with it, which have many more members than they need. No text makes it panic.
package rawjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// Value is one JSON value inside a text that Parse has found valid. A walk over its members costs
// no allocation and no reflection, and it skips the members that the caller does not read. Large
// integers keep all digits. If a key is repeated, the caller sees both. encoding/json decodes
// strings with escapes.
type Value []byte

// space returns the index of the first byte at or after i that is not white space.
func (v Value) space(i int) int {
	for i < len(v) && (v[i] == ' ' || v[i] == '\n' || v[i] == '\r' || v[i] == '\t') {
		i++
	}
	return i
}

// end returns the index after the value that starts at i.
func (v Value) end(i int) int {
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
func (v Value) quoteEnd(i int) int {
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

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return len(v) > 0 && v[0] == '{' }

// IsArray reports whether the value is an array.
func (v Value) IsArray() bool { return len(v) > 0 && v[0] == '[' }

// IsString reports whether the value is a string.
func (v Value) IsString() bool { return len(v) > 0 && v[0] == '"' }

// IsNull reports whether the value is null, or not there.
func (v Value) IsNull() bool { return len(v) == 0 || v[0] == 'n' }

// Members walks an object or an array. Next moves to the next member, which is then Key and Val.
type Members struct {
	in  Value
	at  int
	Key []byte // decoded; only of an object
	Val Value
}

// Members returns a walk that begins before the first member. A value that is no object and no
// array has no members.
func (v Value) Members() Members {
	if !v.IsObject() && !v.IsArray() {
		return Members{}
	}
	return Members{in: v, at: 1}
}

// Next moves to the next member; false: there is none.
func (m *Members) Next() bool {
	i := m.in.space(m.at)
	if i < len(m.in) && m.in[i] == ',' {
		i = m.in.space(i + 1)
	}
	if i >= len(m.in)-1 {
		return false
	}
	if m.in[0] == '{' {
		end := m.in.quoteEnd(i)
		m.Key = m.in[i+1 : end-1]
		for _, c := range m.Key {
			if c == '\\' {
				m.Key = []byte(m.in[i:end].Text())
				break
			}
		}
		i = m.in.space(m.in.space(end) + 1) // the colon
	}
	end := m.in.end(i)
	m.Val, m.at = m.in[i:end], end
	return true
}

// Get returns the member of that name, or nil. If a key is repeated, the last one counts, as in
// encoding/json.
func (v Value) Get(name string) Value {
	var found Value
	if v.IsObject() {
		for m := v.Members(); m.Next(); {
			if string(m.Key) == name {
				found = m.Val
			}
		}
	}
	return found
}

// First returns the text of the first of these members that has one, else "".
func (v Value) First(names ...string) string {
	for _, n := range names {
		if s := v.Get(n).Text(); s != "" {
			return s
		}
	}
	return ""
}

// Text returns the contents of a string, the digits of a number, true or false; otherwise "".
func (v Value) Text() string {
	switch {
	case v.IsNull() || v.IsObject() || v.IsArray():
		return ""
	case !v.IsString():
		return string(v)
	}
	if text, ok := v.Plain(); ok {
		return string(text)
	}
	var s string
	_ = json.Unmarshal(v, &s) // Parse has found v valid
	return s
}

// Plain returns the contents of a string inside the text, without a copy. It reports false if the
// value is no string, or one whose contents differ from what stands in the text: it has escapes or
// invalid UTF-8.
func (v Value) Plain() (text []byte, ok bool) {
	if !v.IsString() {
		return nil, false
	}
	text = v[1 : len(v)-1]
	return text, bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text)
}

// OneOf returns Text, without an allocation if it is one of the known texts.
func (v Value) OneOf(known ...string) string {
	if text, ok := v.Plain(); ok {
		for _, k := range known {
			if string(text) == k {
				return k
			}
		}
	}
	return v.Text()
}

// trimmed returns Text without white space around it. Most texts are not copied.
func (v Value) trimmed() []byte {
	text, ok := v.Plain()
	if !ok {
		text = []byte(v.Text())
	}
	return bytes.TrimSpace(text)
}

// Integer returns a number, or the number in a string, without its fraction.
func (v Value) Integer() (int64, bool) {
	s := v.trimmed()
	if n, err := strconv.ParseInt(string(s), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(s), 64)
	if err != nil || f != f || f > 1<<62 || f < -(1<<62) {
		return 0, false
	}
	return int64(f), true
}

// Bool returns a boolean, or the boolean in a string.
func (v Value) Bool() (b, ok bool) {
	switch v.Text() {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// The limits of Value.Time. A time outside counts as damaged. No real event is older than 2009; the
// limit is 2000, because the clock of a testing/synctest bubble begins then.
var (
	earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Time returns the time of a timestamp in UTC: RFC 3339, or a number in a string or an integer
// (docs/service.md#assumptions). The size of the number decides whether it is seconds, milliseconds
// or microseconds. Anything else is the zero time.
func (v Value) Time() time.Time {
	s := v.trimmed()
	if len(s) == 0 {
		return time.Time{}
	}
	var t time.Time
	if len(s) > 10 && s[4] == '-' { // checked first, because a failed ParseInt allocates
		var err error
		if t, err = time.Parse(time.RFC3339Nano, string(s)); err != nil {
			return time.Time{}
		}
	} else if n, err := strconv.ParseInt(string(s), 10, 64); err == nil {
		switch {
		case n >= 1e14:
			t = time.UnixMicro(n)
		case n >= 1e11:
			t = time.UnixMilli(n)
		default:
			t = time.Unix(n, 0)
		}
	} else if f, err := strconv.ParseFloat(string(s), 64); err == nil && f > 0 && f < 1e11 {
		t = time.UnixMilli(int64(f * 1000))
	} else {
		return time.Time{}
	}
	if t.Before(earliest) || t.After(latest) {
		return time.Time{}
	}
	return t.UTC()
}
