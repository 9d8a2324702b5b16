package rawjson

import "errors"

// maxDepth is the deepest nesting of JSON that is read. The deepest known body is the platform's
// envelope inside the service's: 11 levels.
const maxDepth = 64

// The errors of Parse.
var (
	ErrSyntax = errors.New("not JSON")
	ErrDepth  = errors.New("JSON nested deeper than 64")
)

// Parse validates text (RFC 8259) and returns its one value. Like encoding/json, it takes invalid
// UTF-8 and lone surrogates. One pass over the text checks both syntax and depth.
func Parse(text []byte) (Value, error) {
	v := Value(text)
	start := v.space(0)
	end, err := v.check(start, 0)
	if err == nil && v.space(end) != len(v) {
		err = ErrSyntax
	}
	if err != nil {
		return nil, err
	}
	return v[start:end], nil
}

// at returns the byte at i, or 0 behind the text. A 0 is valid nowhere in JSON.
func (v Value) at(i int) byte {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// check returns the index after the value that starts at i. depth is the number of objects and
// arrays around it.
func (v Value) check(i, depth int) (end int, err error) {
	switch c := v.at(i); c {
	case '{', '[':
		if depth == maxDepth {
			return 0, ErrDepth
		}
		return v.checkMembers(i, depth+1)
	case '"':
		return v.checkString(i)
	case 't':
		return v.checkWord(i, "true")
	case 'f':
		return v.checkWord(i, "false")
	case 'n':
		return v.checkWord(i, "null")
	}
	return v.checkNumber(i)
}

// checkMembers returns the index after the object or the array that starts at i.
func (v Value) checkMembers(i, depth int) (end int, err error) {
	object := v[i] == '{'
	closing := v[i] + 2 // in ASCII, } is { + 2, and ] is [ + 2
	if i = v.space(i + 1); v.at(i) == closing {
		return i + 1, nil
	}
	for {
		if object {
			if v.at(i) != '"' {
				return 0, ErrSyntax
			}
			if i, err = v.checkString(i); err != nil {
				return 0, err
			}
			if i = v.space(i); v.at(i) != ':' {
				return 0, ErrSyntax
			}
			i = v.space(i + 1)
		}
		if i, err = v.check(i, depth); err != nil {
			return 0, err
		}
		switch i = v.space(i); v.at(i) {
		case closing:
			return i + 1, nil
		case ',':
			i = v.space(i + 1)
		default:
			return 0, ErrSyntax
		}
	}
}

// checkString returns the index after the string that starts at i.
func (v Value) checkString(i int) (end int, err error) {
	for i++; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			return i + 1, nil
		case c < ' ':
			return 0, ErrSyntax
		case c == '\\':
			i++
			switch v.at(i) {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					i++
					if c := v.at(i); (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
						return 0, ErrSyntax
					}
				}
			default:
				return 0, ErrSyntax
			}
		}
	}
	return 0, ErrSyntax
}

func (v Value) checkWord(i int, word string) (end int, err error) {
	if end = i + len(word); end > len(v) || string(v[i:end]) != word {
		return 0, ErrSyntax
	}
	return end, nil
}

// checkNumber returns the index after the number that starts at i.
func (v Value) checkNumber(i int) (end int, err error) {
	if v.at(i) == '-' {
		i++
	}
	first := i
	if i = v.digits(i); i == first || v[first] == '0' && i > first+1 {
		return 0, ErrSyntax
	}
	if v.at(i) == '.' {
		first = i + 1
		if i = v.digits(first); i == first {
			return 0, ErrSyntax
		}
	}
	if v.at(i)|0x20 == 'e' {
		if i++; v.at(i) == '+' || v.at(i) == '-' {
			i++
		}
		first = i
		if i = v.digits(first); i == first {
			return 0, ErrSyntax
		}
	}
	return i, nil
}

// digits returns the index of the first byte at or after i that is no digit.
func (v Value) digits(i int) int {
	for i < len(v) && '0' <= v[i] && v[i] <= '9' {
		i++
	}
	return i
}
