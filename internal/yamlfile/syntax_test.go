package yamlfile

import "testing"

// The words of the YAML library say nothing to a person who has forgotten a bracket.
func TestAFaultOfTheSyntaxHasARemedy(t *testing.T) {
	t.Parallel()
	const within = "another key begins within this value; indent the keys of one level alike; text that has a colon goes in quotes"
	for src, want := range map[string]string{
		"name: [a":              "c.yaml:1:7: the [ that stands here is not closed; close it with ]",
		"name: [a, b}}":         "c.yaml:1:7: the [ that stands here is not closed; close it with ]",
		"name: {a: 1":           "c.yaml:1:7: the { that stands here is not closed; close it with }",
		"name: \"x":             `c.yaml:1:7: the quote that begins here is not closed; close it with "`,
		"name: 'x":              "c.yaml:1:7: the quote that begins here is not closed; close it with '",
		"name: [\"a\" \"b\"]":   "c.yaml:1:12: a comma or ] is missing before this; put a comma between two values, and ] at the end of the list",
		"name: {a: \"b\" c: d}": "c.yaml:1:15: a comma or } is missing before this; put a comma between two keys, and } after the last",
		"name: b: c":            "c.yaml:1:7: " + within,
		"name: a\n list: [b]":   "c.yaml:1:7: " + within,
		"name: [a]]": "c.yaml:1:10: a value stands where none belongs; " +
			"indent the keys of one level alike, and close each [ and { once",
		"name: |\n s\nfoo":          "c.yaml:3:1: text stands where a key belongs; write KEY: VALUE",
		": x":                       "c.yaml:1:1: a key is missing before the colon; write KEY: VALUE",
		"name: @x":                  "c.yaml:1:7: a value cannot begin with @; put the text in quotes",
		"name: `x":                  "c.yaml:1:7: a value cannot begin with `; put the text in quotes",
		"name: a\nlist: b\nname: c": `c.yaml:3:1: the key "name" stands twice, first in line 1; remove one of them`,
		"name: \"a\\q\"": `c.yaml:1:10: a \ in double quotes begins a character that YAML does not know; ` +
			`write \\ for a backslash, or put the text in single quotes`,
		"name:\n\tlist: a": "c.yaml:2:1: a tab stands where YAML wants spaces; indent with spaces",
	} {
		f := parsed(src)
		if len(f.Faults) == 0 {
			t.Errorf("%q: got no fault, want %q", src, want)
			continue
		}
		if got := f.Faults[0].Where + ": " + f.Faults[0].What + "; " + f.Faults[0].Remedy; got != want {
			t.Errorf("%q:\n got %s\nwant %s", src, got, want)
		}
	}
	if what, remedy := plain("another message", "see the schema"); what != "another message" || remedy != "see the schema" {
		t.Errorf("an unknown message: got %q and %q, want it as it is", what, remedy)
	}
}
