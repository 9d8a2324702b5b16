package file

import (
	"fmt"
	"strings"
	"testing"
)

func TestNestingEndsAtItsLimit(t *testing.T) {
	deep := func(n int, open, end string) string {
		return "a: " + strings.Repeat(open, n) + strings.Repeat(end, n) + "\n"
	}
	const tooDeep = "nested more than 32 deep"
	for name, c := range map[string]struct {
		src  string
		deep bool
	}{
		"32 lists": {deep(32, "[", "]"), false}, "33 lists": {deep(33, "[", "]"), true}, "32 maps": {deep(32, "{b: ", "}"), false},
		"33 maps":   {deep(33, "{b: ", "}"), true},
		"32 dashes": {strings.Repeat("- ", 32) + "a\n", false}, "33 dashes": {strings.Repeat("- ", 33) + "a\n", true},
		"17 dashes on each of 2 lines": {strings.Repeat(strings.Repeat("- ", 17)+"a\n", 2), false},
		"32 questions":                 {strings.Repeat("? ", 32) + "a\n", false}, "33 questions": {strings.Repeat("? ", 33) + "a\n", true},
		"40 lists beside each other": {"a: [" + strings.Repeat("[],", 40) + "]\n", false},
		"40 maps beside each other":  {"a: [" + strings.Repeat("{},", 40) + "]\n", false},
		"640 columns in":             {"a:\n" + strings.Repeat(" ", 640) + "b: c\n", false},
		"641 columns in":             {"a:\n" + strings.Repeat(" ", 641) + "b: c\n", true},
	} {
		found := false
		for _, f := range ReadSource("c.yaml", []byte(c.src)).Faults {
			found = found || f.What == tooDeep && f.Remedy == "a campaign file is flat"
		}
		if found != c.deep {
			t.Errorf("%s: refused = %v, want %v", name, found, c.deep)
		}
	}
}

// The largest file and one with a byte more, and content that no text file has.
func TestAFileIsATextOfAtMostAMebibyte(t *testing.T) {
	const good = "name: a\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en_US}\n"
	fill := good + strings.Repeat("#", MaxSize-len(good))
	for name, c := range map[string]struct{ src, want string }{
		"largest":                {fill, ""},
		"with a byte order mark": {"\ufeff" + fill, ""},
		"a byte more": {fill + "#", "c.yaml: the file has 1048577 bytes; a campaign file has at most 1048576; " +
			"the recipients belong in a list (recipients.file)"},
		"NUL at its begin": {"\x00" + good, "c.yaml: the file is not UTF-8 text; save it as UTF-8"},
		"no UTF-8":         {good + "# \xff", "c.yaml: the file is not UTF-8 text; save it as UTF-8"},
		"nothing":          {"", "c.yaml: the file holds no campaign; see `campaignd config schema` for what belongs in it"},
		"comments":         {"# a\n---\n# b\n", "c.yaml: the file holds no campaign; see `campaignd config schema` for what belongs in it"},
		"comment first":    {"# a\n---\n" + good, ""},
		"two": {good + "---\nname: b\n",
			"c.yaml:5:1: a second document begins here; one file holds one campaign: give it its own file"},
		"three": {good + "---\nname: b\n---\nname: c\n",
			"c.yaml:5:1: a second document begins here; one file holds one campaign: give it its own file"},
		"CRLF": {strings.ReplaceAll(good, "\n", "\r\n"), ""},
		"anchors": {"name: &x a\n",
			"c.yaml:1:7: anchors and aliases are not read in campaign files; write the value out; " +
				"text that begins with & or * goes in quotes"},
		"tags": {"name: !a b\n",
			"c.yaml:1:7: tags and directives are not read in campaign files; remove it; text that begins with ! or % goes in quotes"},
		"twice": {good + "name: b\n", "c.yaml:4:1: the key \"name\" stands twice, first in line 1; remove one of them"},
		"tab":   {"name: a\nlimits:\n\trate: 1\n", "c.yaml:3:1: a tab stands where YAML wants spaces; indent with spaces"},
		"zero": {good + "limits: {not_after: 0s}\n",
			"c.yaml:4:21: limits.not_after: 0 could mean at once or without limit; remove it for the default"},
		"a word": {good + "limits: {not_after: soon}\n",
			`c.yaml:4:21: limits.not_after: "soon" is not a duration: want a number with a unit, for example 15m, 24h or 7d`},
		"nothing given": {good + "limits:\n", "c.yaml:4:1: limits: has no value; give one, or remove the key"},
	} {
		_, err := Parse("c.yaml", []byte(c.src))
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

// Each key with a value of each type.
func TestAWrongTypeIsNamedWithTheRightOne(t *testing.T) {
	values := map[string]string{
		"1": "a number", "1.5": "a decimal number", ".inf": ".inf", "-.inf": "-.inf", ".nan": ".nan", ".NaN": ".NaN",
		"true": "true or false", "text": "text", "|\n  text": "text",
		"[a]": "a list", "{a: b}": "keys with values", "\n  a: b": "keys with values",
	}
	for key, c := range map[string]struct {
		want  string
		fits  []string
		quote bool
	}{
		"name":                  {"text", []string{"text", "|\n  text"}, true},
		"limits.rate":           {"a number", []string{"1", "1.5"}, false},
		"limits.max_messages":   {"a whole number", []string{"1"}, false},
		"policies.approval":     {"true, false, or a number of recipients", []string{"true", "1"}, false},
		"policies.doubt_window": {"a duration such as 15m, 24h or 7d", []string{"text"}, false},
		"connections":           {"a list", []string{"[a]"}, false},
		"limits":                {"keys with values", []string{"{a: b}", "\n  a: b"}, false},
		"recipients.columns":    {"keys with values", []string{"{a: b}", "\n  a: b"}, false},
	} {
		for value, kind := range values {
			if strings.Contains(key, ".") && strings.Contains(value, "\n") {
				continue
			}
			src, fits := key+": "+value+"\n", false
			if group, member, nested := strings.Cut(key, "."); nested {
				src = group + ": {" + member + ": " + value + "}\n"
			}
			for _, f := range c.fits {
				fits = fits || f == value
			}
			want := fmt.Sprintf("%s: want %s, not %s", key, c.want, kind)
			found := false
			for _, f := range ReadSource("c.yaml", []byte(src)).Faults {
				if f.What == want {
					found = true
					if quote := c.quote && kind != "a list" && kind != "keys with values"; (f.Remedy == "put it in quotes") != quote {
						t.Errorf("%s: remedy = %q, want quotes: %v", src, f.Remedy, quote)
					}
				}
			}
			if found == fits {
				t.Errorf("%s: found %q = %v, want %v", src, want, found, !fits)
			}
		}
	}
}

// An excerpt shows 100 characters of the line of a finding, and a caret below its position.
func TestAnExcerptShowsThePlace(t *testing.T) {
	long := strings.Repeat("x", 58)
	for src, want := range map[string]string{
		"nam: a\n":                          "    1 | nam: a\n        ^",
		"# a\nnam: \x07a\tb\x7fc\n":         "    2 | nam:  a b c\n        ^",
		long + "y: 1\n":                     "    1 | " + long + "y: 1\n        ^",
		"{" + long + ": 1, b: 2}\n":         "    1 | {" + long + ": 1, b: 2}\n         ^",
		"name: {a: 1, " + long + ": 2}\n":   "    1 | name: {a: 1, " + long + ": 2}\n              ^",
		"name: a # " + long + long + "\nx:": "    2 | x:\n        ^",
	} {
		s := ReadSource("c.yaml", []byte(src))
		if len(s.Faults) == 0 || s.Faults[0].Excerpt != want {
			t.Errorf("%q: got %+v, want the excerpt\n%s", src, s.Faults, want)
		}
	}
	if err := FaultAt("c.yaml", []byte("schedule: {cron: x}\n"), "schedule.cron",
		"no cron").Show(); err != "c.yaml:1:12: schedule.cron: no cron\n    1 | schedule: {cron: x}\n                   ^" {
		t.Errorf("got\n%s\nwant line 1, column 12 with its excerpt", err)
	}
	if err := FaultAt("c.yaml", []byte("name: a\n"), "schedule.cron", "no cron").Error(); err != "c.yaml: schedule.cron: no cron" {
		t.Errorf("got %s, want no place", err)
	}
}
