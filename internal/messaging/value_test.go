package messaging

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// members finds the same members as encoding/json.
func FuzzValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"\u00e9\"}"}],"c":null}`, ` [ ] `, `"\ud800"`, `{"a":{},"a":1e5}`, `{"":[[]]}`, "\"\xff\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := parse(text)
		if err != nil {
			return
		}
		var want any
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := tree(v); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\n got %v\nwant %v", text, got, want)
		}
	})
}

// White space may be between any two tokens, and a string may have every character, escaped or not.
func TestJSONIsWalkedAsItWasWritten(t *testing.T) {
	tokens := []string{"{", `"a,]}\\\"\u005d"`, ":", "[", "1", ",", "true", ",", "null", ",", `"b\n}"`,
		",", "{", "}", ",", "[", "]", "]", ",", `"c"`, ":", "-1.5e3", "}"}
	same := func(text string) {
		t.Helper()
		v, err := parse([]byte(text))
		if err != nil {
			t.Errorf("%q: %v, want no error", text, err)
			return
		}
		var want any
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := tree(v); !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %v\nwant %v", text, got, want)
		}
	}
	for at := range len(tokens) + 1 {
		for _, space := range []string{"", " ", "\n", "\r", "\t", " \r\n\t "} {
			same(strings.Join(tokens[:at], "") + space + strings.Join(tokens[at:], ""))
		}
	}
	for _, space := range []string{" ", "\n", "\r", "\t"} {
		same(strings.Join(tokens, space))
		for _, one := range []string{"1", "true", "null", `"x"`, `""`, "[]", "{}", "[1]", `{"a":1}`} {
			same(space + one + space)
		}
	}
	// A text that breaks off at any byte is no value.
	text := strings.Join(tokens, "")
	for n := range len(text) {
		if v, err := parse([]byte(text[:n])); err == nil {
			t.Errorf("%q: %q, want an error", text[:n], v)
		}
	}
	// The end of a value that breaks off is the end of its text.
	for _, cut := range []string{"", "[", "{", `{"a`, `["\\`, `[1,[2]`, `"a\"`, "-1", "tru"} {
		if got := value(cut).end(0); got != len(cut) {
			t.Errorf("%q ends at %d, want %d", cut, got, len(cut))
		}
	}
}

func tree(v value) any {
	switch {
	case v.isNull():
		return nil
	case v.isObject():
		out := map[string]any{}
		for m := v.members(); m.next(); {
			out[string([]rune(string(m.key)))] = tree(m.val) // members does not change invalid UTF-8 in a key
		}
		return out
	case v.isArray():
		out := []any{}
		for m := v.members(); m.next(); {
			out = append(out, tree(m.val))
		}
		return out
	case v.isString():
		return v.text()
	}
	if b, ok := v.flag(); ok {
		return b
	}
	return json.Number(v.text())
}
