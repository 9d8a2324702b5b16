package sentence

import (
	"slices"
	"strings"
	"testing"
)

// A third of the letters may be wrong, and always one: 5 letters 1, 6 letters 2, 9 letters 3.
func TestNearestIsAThirdOfTheLettersAway(t *testing.T) {
	for _, tt := range []struct{ name, candidate, want string }{
		{"a", "b", "b"},
		{"a", "bc", ""},
		{"abcde", "abcdX", "abcdX"},
		{"abcde", "abcXY", ""},
		{"abcdef", "abcdXY", "abcdXY"},
		{"abcdef", "abcXYZ", ""},
		{"abcdefgh", "abcdefXY", "abcdefXY"},
		{"abcdefgh", "abcdeXYZ", ""},
		{"abcdefghi", "abcdefXYZ", "abcdefXYZ"},
		{"abcdefghi", "abcdeWXYZ", ""},
		{"\u00e9\u00e9\u00e9\u00e9\u00e9", "\u00e9\u00e9\u00e9XY", ""}, // letters, not bytes
		{"ab_c", "a-b.d e", ""},                                        // abc and abde: separators are ignored
		{"abcd_ef", "ab.cd-XY", "ab.cd-XY"},
		{"API Key", "api_key", "api_key"},
		{"a\u00a0p\ti_k-e.y", "APIKEY", "APIKEY"},
	} {
		if got := Nearest(tt.name, []string{tt.candidate}); got != tt.want {
			t.Errorf("Nearest(%q, %q) = %q, want %q", tt.name, tt.candidate, got, tt.want)
		}
	}
}

func TestTheNearestOfSeveralWins(t *testing.T) {
	for _, tt := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"timeout", []string{"tiXXout", "timeoXt", "timeXuX"}, "timeoXt"},
		{"timeout", []string{"timeouX", "Ximeout"}, "timeouX"},   // equally near: the first wins
		{"timeout", []string{"timeouX", "time_Out"}, "time_Out"}, // only case and separators differ
		{"timeout", []string{"retries", "base_url"}, ""},
		{"timeout", nil, ""},
	} {
		if got := Nearest(tt.name, tt.candidates); got != tt.want {
			t.Errorf("Nearest(%q, %q) = %q, want %q", tt.name, tt.candidates, got, tt.want)
		}
	}
}

// A change is to insert, delete or change a letter, or to swap two neighbours.
func TestDistanceCountsLettersToChange(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0},
		{"", "abc", 3}, {"abc", "", 3},
		{"abc", "abXc", 1}, {"abXc", "abc", 1}, {"abc", "Xabc", 1}, {"abc", "abcX", 1},
		{"abc", "aXc", 1}, {"abc", "Xbc", 1}, {"abc", "abX", 1}, {"abc", "XYZ", 3},
		{"abc", "bac", 1}, {"abc", "acb", 1}, {"abcd", "badc", 2},
		{"abc", "bXa", 3}, // a and b are no neighbours in bXa
		{"ab", "cb", 1}, {"ab", "ac", 1}, {"abcd", "acXd", 2},
		{"kitten", "sitting", 3}, {"saturday", "sunday", 3},
		{"\u00e9a", "a\u00e9", 1},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// The name of a column may have a megabyte, so only the first 64 letters are compared.
func TestDistanceCompares64Letters(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{long + "b", long + "c", 0},
		{long[:63] + "b", long[:63] + "c", 1},
		{long, long + long, 0},
		{long + long, long, 0},
		{long[:63], long + "a", 1},
	} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance of %d and %d letters = %d, want %d", len(tt.a), len(tt.b), got, tt.want)
		}
	}
}

func TestACountAgreesWithItsNoun(t *testing.T) {
	for n, want := range map[int64]string{0: "0 rows", 1: "1 row", 2: "2 rows", 21: "21 rows"} {
		if got := Count(n, "row", "rows"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

// The ledger keeps details of 300 bytes.
func TestAFirstLineEndsAtALineFeed(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "a", "a\nb": "a", "\n": ""} {
		if got := FirstLine(in); got != want {
			t.Errorf("FirstLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSentencesWrapBetweenWords(t *testing.T) {
	for _, c := range []struct {
		s       string
		columns int
		want    []string
	}{
		{"a bb ccc", 8, []string{"a bb ccc"}},
		{"a bb ccc", 7, []string{"a bb", "ccc"}},
		{"éé éé", 5, []string{"éé éé"}},
		{strings.Repeat("x", 24) + " y", 24, []string{strings.Repeat("x", 24), "y"}},
		{strings.Repeat("x", 22) + " y", 24, []string{strings.Repeat("x", 22) + " y"}},
		{strings.Repeat("x", 23) + " y", 24, []string{strings.Repeat("x", 23), "y"}},
		{strings.Repeat("x", 40) + " y", 30, []string{strings.Repeat("x", 40), "y"}},
		{"a " + strings.Repeat("x", 40), 30, []string{"a", strings.Repeat("x", 40)}},
		{"a b  c", 30, []string{"a b c"}},
		{"", 30, []string{""}},
	} {
		if got := Wrap(c.s, c.columns); !slices.Equal(got, c.want) {
			t.Errorf("%q at %d: got %q, want %q", c.s, c.columns, got, c.want)
		}
	}
}

func TestTextsAreClippedAtARunesBorder(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"abé", 4, "abé"},
		{"abéd", 3, "ab"},
		{"abéd", 4, "abé"},
		{"€", 2, ""},
		{"a", 0, ""},
		{"\x80\x80\x80", 2, ""}, // no rune begins
		{strings.Repeat("x", 301), 300, strings.Repeat("x", 300)},
		{strings.Repeat("é", 200), 300, strings.Repeat("é", 150)},
		{"x" + strings.Repeat("€", 100), 300, "x" + strings.Repeat("€", 99)},
	} {
		if got := Clip(c.text, c.most); got != c.want {
			t.Errorf("%q clipped to %d bytes = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestShortenedTextsArePrintable(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc..."},
		{"\u00fc\u00fc\u00fc", 2, "\u00fc\u00fc..."},
		{"a", 0, "..."},
		{"a\x1b\xffb", 3, "a\ufffd\ufffd..."},
	} {
		if got := Shorten(c.text, c.most); got != c.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
