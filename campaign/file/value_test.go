package file

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
)

// Each use with the longest value that may be sent, and with one that is too long.
func TestValuesEndAtTheLimitsOfTheirUse(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	const host = "https://a/"
	for _, c := range []struct {
		use   use
		in    string
		units int
		why   string
	}{
		{inBody, x(1024), 1024, ""}, {inBody, x(1025), 1025, "has 1025 characters; at most 1024 are allowed"},
		{inBody, strings.Repeat("\U0001F600", 512), 1024, ""}, {inBody, strings.Repeat("\uffff", 1024), 1024, ""},
		{inPayload, x(1024), 1024, ""}, {inPayload, x(1025), 1025, "has 1025 characters; at most 1024 are allowed"},
		{inURL, x(2000), 2000, ""}, {inURL, x(2001), 2001, "has 2001 characters; at most 2000 are allowed"},
		{inURL, strings.Repeat("\u00e9", 333) + "xx", 2000, ""},
		{inURL, strings.Repeat("\u00e9", 333) + "xxx", 2001, "has 2001 characters; at most 2000 are allowed"},
		{inURL, "/x", 2, ""}, {inURL, "//x", 3, "is a whole address: the template has the beginning of it, the variable is only its end"},
		{inURL, "a+b-c.1://x", 11, "is a whole address: the template has the beginning of it, the variable is only its end"},
		{inURL, "://x", 4, ""}, {inURL, "a b", 3, "has a space, which an address cannot have"},
		{inLink, host + x(1990), 2000, ""}, {inLink, host + x(1991), 2001, "has 2001 characters; at most 2000 are allowed"},
		{inLink, "http://a", 8, ""}, {inLink, "https://", 8, "is not a link: want https://host/path"},
		{inLink, "ftp://a", 7, "is not a link: want https://host/path"}, {inLink, "https://a b", 11, "has a space, which an address cannot have"},
		{inLink, "https://?a", 10, "is not a link: want https://host/path"}, {inLink, "https://#a", 10, "is not a link: want https://host/path"},
		{inLink, "https://@a", 10, "is not a link: want https://host/path"}, {inLink, "https://:1", 10, "is not a link: want https://host/path"},
		{inCopyCode, x(20), 20, ""}, {inCopyCode, x(21), 21, "has 21 characters; at most 20 are allowed"}, {inCopyCode, "azAZ09", 6, ""},
		{inOTP, x(15), 15, ""}, {inOTP, x(16), 16, "has 16 characters; at most 15 are allowed"}, {inOTP, "!~", 2, ""},
		{inOTP, "a/b", 3, "is not a one-time code: want letters, digits and signs without spaces, links or emoji"},
	} {
		_, units, why := finish(c.use, c.in)
		if units != c.units || why != c.why {
			t.Errorf("use %d of %d bytes: got %d units, %q, want %d, %q", c.use, len(c.in), units, why, c.units, c.why)
		}
	}
	for _, sign := range "@[`{/:" { // the neighbours of letters and digits in ASCII
		if _, _, why := finish(inCopyCode, string(sign)); why == "" {
			t.Errorf("coupon %q: got no fault, want one", sign)
		}
	}
	for in, want := range map[string]string{
		"%0f": "", "%9F": "", "%aA": "", "%g0": "%", "%0g": "%", "%G0": "%", "%/0": "%", "%:0": "%", "%@0": "%", "%`0": "%", "%a": "%",
		"%": "%", "a%20": "", "%2": "%",
	} {
		if out, why := encodeURL(in); (why == "") != (want == "") || why == "" && out != in {
			t.Errorf("encodeURL(%q) = %q, %q, want a fault: %v", in, out, why, want != "")
		}
	}
	if out, why := encodeURL("\u00ff\x7f\x1f<>\"\\^`{|}~!"); out != "%C3%BF%7F%1F%3C%3E%22%5C%5E%60%7B%7C%7D~!" || why != "" {
		t.Errorf("encoded = %q, %q, want %%C3%%BF%%7F%%1F%%3C%%3E%%22%%5C%%5E%%60%%7B%%7C%%7D~!", out, why)
	}
}

// The platform refuses these characters anywhere in a value; counting stops at the first one.
func TestAFaultOfAValueIsFoundWhereItStands(t *testing.T) {
	for in, want := range map[string]string{
		"a    b": "6 ", "a     b": "6 has more than 4 spaces in a row", "\u00a0 \u00a0 x": "5 ",
		"\u00a0 \u00a0 \u00a0x": "5 has more than 4 spaces in a row",
		"a  b  c  d":            "10 ", "  \u00e9  \u00e9  ": "8 ", "a\nb": "2 has a line break",
		"a\rb": "2 has a line break", "a\tb": "2 has a tab",
		"\x1f": "1 has the control character U+001F",
		"\x7f": "1 has the control character U+007F", "~": "1 ", "\u0080": "1 has the control character U+0080",
		"\u009f": "1 has the control character U+009F",
		"\u0085": "1 has a line break", "a\u2028": "2 has a line break", "\u2029": "1 has a line break", "\u2027": "1 ",
		"\ufeffx": "1 has the control character U+FEFF",
		"\xff":    "1 is not UTF-8 text", "\ufffd": "1 has the replacement character U+FFFD: the list was saved or read in a wrong encoding",
		"\uffff": "1 ", "\U00010000": "2 ", "\U0001F600x": "3 ", "    \U0001F600    ": "10 ",
	} {
		units, why := fault(in)
		if got := fmt.Sprintf("%d %s", units, why); got != want {
			t.Errorf("fault(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]int{"": 0, "x": 1, "\u00e9": 1, "\uffff": 1, "\U00010000": 2} {
		if got := unitsOf(in); got != want {
			t.Errorf("unitsOf(%q) = %d, want %d", in, got, want)
		}
	}
	for in, want := range map[string]string{" a ": "a", "\u200b\u200e\u200f\u2060\ufeffa\u00a0": "a", "a\u200bb": "a\u200bb",
		"\u200c\u00e9": "\u200c\u00e9", "e\u0301": "\u00e9", "\u007f": "\u007f"} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNamesOfVariablesAreWords(t *testing.T) {
	for in, want := range map[string]bool{
		"a": true, "_": true, "a1": true, "1a": false, "": false, "a-b": false, "a b": false, "\u00fc\u0308": true, "\u0308": false, "a.b": false,
		strings.Repeat("\u00fc", 64): true, strings.Repeat("a", 65): false,
	} {
		if got := isIdentifier(in); got != want {
			t.Errorf("isIdentifier(%q) = %v, want %v", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"{{ .a }}": "", "x{{.a}}y": "", "{{a}}": `"{{a}}" lacks its dot: write {{ .a }}`,
		"a }} b":   `"a }} b" closes a variable that was not opened: want {{ .name }}`,
		"ab {{ .a": `"{{ .a" opens a variable and does not close it: want {{ .name }}`, "{{ .a b }}": `"{{ .a b }}" is not a variable`,
		"{{ . }}": `"{{ . }}" is not a variable`, "{{}}": `"{{}}" is not a variable`,
	} {
		_, err := parts(in)
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("parts(%q): got %s, want %s", in, got, want)
		}
	}
	got, _ := parts("{{ .a }}b{{.c}}")
	if diff := cmp.Diff([]part{{"a", true}, {"b", false}, {"c", true}}, got, cmp.AllowUnexported(part{})); diff != "" {
		t.Errorf("parts -want +got:\n%s", diff)
	}
	if got := variables("{{ .a }} {{"); got != nil {
		t.Errorf("variables of a text that cannot be read = %q, want none", got)
	}
}

// The shortest and longest durations.
func TestDurationsAreReadExactly(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"1d2h3m4s5ms": 26*time.Hour + 3*time.Minute + 4*time.Second + 5*time.Millisecond, "9m": 9 * time.Minute, "0s": 0,
		"1m1ms":   time.Minute + time.Millisecond,
		"106751d": 106751 * 24 * time.Hour, "106751d23h47m16s854ms": 1<<63 - 1 - 775807,
	} {
		if got, err := campaign.ParseDuration(in); err != nil || got.Std() != want {
			t.Errorf("%s: got %v, %v, want %v", in, got.Std(), err, want)
		}
	}
	for _, in := range []string{"106752d", "106751d23h47m16s855ms", "106751d24h", "5ms1s", "1s1m", "1:0m", "1/m", "h", "1", "0"} {
		if got, err := campaign.ParseDuration(in); err == nil {
			t.Errorf("%s: got %v, want an error", in, got)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0s", -time.Second: "0s", time.Microsecond: "0s", time.Millisecond: "1ms", 36 * time.Hour: "36h", 61 * time.Second: "1m1s",
		time.Second + 500*time.Microsecond: "1s",
	} {
		if got := campaign.Duration(d).String(); got != want {
			t.Errorf("%v is written %s, want %s", d, got, want)
		}
	}
	var d campaign.Duration = 7
	if err := d.UnmarshalText([]byte("x")); err == nil || d != 7 {
		t.Errorf("got %v, %v, want an error and the value as it was", d, err)
	}
}

// A value is shown in one line, without control characters.
func TestShownValuesAreShort(t *testing.T) {
	for in, want := range map[string]string{
		strings.Repeat("x", 40): strings.Repeat("x", 40), strings.Repeat("x", 41): strings.Repeat("x", 40) + "...",
		strings.Repeat("\u00fc", 41): strings.Repeat("\u00fc", 40) + "...", "a\x1b[2Jb": "a\ufffd[2Jb", "\xff": "\ufffd",
	} {
		if got := shorten(in); got != want {
			t.Errorf("shorten(%q) = %q, want %q", in, got, want)
		}
	}
	long := strings.Repeat("x", 200)
	for _, c := range []struct {
		v    any
		want string
	}{{nil, "not set"}, {false, "not set"}, {0.0, "not set"}, {"", "not set"}, {map[string]any{}, "not set"}, {true, "true"}, {1.0, "1"},
		{[]any{}, "[]"}, {long, `"` + long[:119] + "..."}} {
		if got := describe(c.v); got != c.want {
			t.Errorf("describe(%v) = %s, want %s", c.v, got, c.want)
		}
	}
}
