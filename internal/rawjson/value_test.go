package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Parse takes the same texts as encoding/json, if they are not too deep, and members finds the same
// members.
func FuzzValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"\u00e9\"}"}],"c":null}`, ` [ ] `, `"\ud800"`, `{"a":{},"a":1e5}`, `{"":[[]]}`, "\"\xff\"",
		`-0.10E+2`, `01`, `1.`, `{"a":tru}`, `["\x"]`, "\"\x1f\"", `[1,]`, `{"a" 1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Parse(text)
		if valid := json.Valid(text); valid != (err == nil) && !errors.Is(err, ErrDepth) {
			t.Fatalf("%q: %v, but encoding/json says valid = %t; want the same", text, err, valid)
		}
		if errors.Is(err, ErrDepth) && bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) <= maxDepth {
			t.Fatalf("%q: %v, want another error of at most %d brackets", text, err, maxDepth)
		}
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
		v, err := Parse([]byte(text))
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
		if v, err := Parse([]byte(text[:n])); err == nil {
			t.Errorf("%q: %q, want an error", text[:n], v)
		}
	}
	// The end of a value that breaks off is the end of its text.
	for _, cut := range []string{"", "[", "{", `{"a`, `["\\`, `[1,[2]`, `"a\"`, "-1", "tru"} {
		if got := Value(cut).end(0); got != len(cut) {
			t.Errorf("%q ends at %d, want %d", cut, got, len(cut))
		}
	}
}

// Each edit of one byte of a text with every kind of token is judged as encoding/json judges it.
func TestSyntaxIsJudgedAsByEncodingJSON(t *testing.T) {
	text := []byte(` {"k":[-10.25e+7,0,"a\n\u00Af\/",true,false,null,{},[]],"":0.5E-1} `)
	judge := func(edited []byte) {
		t.Helper()
		if _, err := Parse(edited); (err == nil) != json.Valid(edited) {
			t.Errorf("%q: %v, want the verdict of encoding/json, valid = %t", edited, err, json.Valid(edited))
		}
	}
	for at := range text {
		judge(slices.Delete(slices.Clone(text), at, at+1))
		for b := range 256 {
			changed := slices.Clone(text)
			changed[at] = byte(b)
			judge(changed)
			judge(slices.Insert(slices.Clone(text), at, byte(b)))
		}
	}
}

func TestAKnownTextIsFoundWithoutEscapes(t *testing.T) {
	for text, want := range map[string]string{`"sent"`: "sent", `"se\u006et"`: "sent", `"other"`: "other", `7`: "7", `null`: "", `""`: "",
		"\"\xff\"": "\ufffd"} {
		if got := Value(text).OneOf("read", "sent"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func tree(v Value) any {
	switch {
	case v.IsNull():
		return nil
	case v.IsObject():
		out := map[string]any{}
		for m := v.Members(); m.Next(); {
			out[string([]rune(string(m.Key)))] = tree(m.Val) // members does not change invalid UTF-8 in a key
		}
		return out
	case v.IsArray():
		out := []any{}
		for m := v.Members(); m.Next(); {
			out = append(out, tree(m.Val))
		}
		return out
	case v.IsString():
		return v.Text()
	}
	if b, ok := v.Bool(); ok {
		return b
	}
	return json.Number(v.Text())
}

func TestDepthIsLimitedAndNotTheNumber(t *testing.T) {
	for depth, want := range map[int]error{64: nil, 65: ErrDepth} {
		if _, err := Parse([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))); !errors.Is(err, want) {
			t.Errorf("depth %d: %v, want %v", depth, err, want)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("[],", 100) + "1")); !errors.Is(err, ErrSyntax) {
		t.Errorf("many shallow values: %v, want %v: depth is not their number", err, ErrSyntax)
	}
}

func TestStampsTellTheirUnitBySize(t *testing.T) {
	for text, want := range map[string]time.Time{
		"99999999999":                 {},                            // seconds: the year 5138
		"100000000000":                {},                            // milliseconds: 1973
		"7258118400":                  time.Unix(7258118400, 0),      // seconds, the first instant of 2200
		"7258118401":                  {},                            // seconds, one later
		"946684800":                   time.Unix(946684800, 0),       // the first instant of 2000
		"946684799":                   {},                            // one second earlier
		"1790000001500":               time.UnixMilli(1790000001500), // milliseconds
		"99999999999999":              {},                            // milliseconds: the year 5138
		"1790000001500250":            time.UnixMicro(1790000001500250),
		"946684800000000":             time.Unix(946684800, 0), // microseconds of 2000
		"1790000001.5":                time.UnixMilli(1790000001500),
		`"2026-09-21T14:13:21.5Z"`:    time.Date(2026, 9, 21, 14, 13, 21, 5e8, time.UTC),
		`"2026-09-21 14:13:21"`:       {},
		`" 1790000001 "`:              time.Unix(1790000001, 0),
		`"2026-09-21"`:                {},
		`"1990-01-01T00:00:00Z"`:      {},
		`"2199-12-31T23:59:59Z"`:      time.Unix(7258118399, 0),
		`"1999-12-31T23:00:00-02:00"`: time.Date(2000, 1, 1, 1, 0, 0, 0, time.UTC),
	} {
		if got := Value(text).Time(); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]int64{"7": 7, "-7": -7, `"7"`: 7, "7.9": 7, "1e3": 1000,
		"4611686018427387904.0": 1 << 62, "-4611686018427387904.0": -(1 << 62)} {
		if got, ok := Value(text).Integer(); !ok || got != want {
			t.Errorf("integer of %s = %d, %t; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"9.3e18", "-9.3e18", `"NaN"`, `"x"`, "null", "{}", "true"} {
		if got, ok := Value(text).Integer(); ok {
			t.Errorf("integer of %s = %d, want none", text, got)
		}
	}
}
