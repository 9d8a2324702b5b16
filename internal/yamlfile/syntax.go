package yamlfile

import (
	"fmt"
	"regexp"
	"strings"
)

// syntax are faults of the syntax: a part of the message of the YAML library, and what to say
// instead. The first that fits counts.
var syntax = []struct{ told, what, remedy string }{
	{"found character '\t'", "a tab stands where YAML wants spaces", "indent with spaces"},
	{"sequence end token ']' not found", "the [ that stands here is not closed", "close it with ]"},
	{"flow mapping end token '}'", "the { that stands here is not closed", "close it with }"},
	{"end character of double-quoted text", "the quote that begins here is not closed", `close it with "`},
	{"end character of single-quoted text", "the quote that begins here is not closed", "close it with '"},
	{"',' or ']' must be specified", "a comma or ] is missing before this",
		"put a comma between two values, and ] at the end of the list"},
	{"',' or '}' must be specified", "a comma or } is missing before this",
		"put a comma between two keys, and } after the last"},
	{"mapping value is not allowed", "another key begins within this value",
		"indent the keys of one level alike; text that has a colon goes in quotes"},
	{"value is not allowed", "a value stands where none belongs", "indent the keys of one level alike, and close each [ and { once"},
	{"non-map value is specified", "text stands where a key belongs", "write KEY: VALUE"},
	{"unexpected key name", "a key is missing before the colon", "write KEY: VALUE"},
	{"unknown escape character", `a \ in double quotes begins a character that YAML does not know`,
		`write \\ for a backslash, or put the text in single quotes`},
}

// reserved and doubled match messages of the YAML library.
var (
	reserved = regexp.MustCompile(`^'(.)' is a reserved character`)
	doubled  = regexp.MustCompile(`^mapping key (".*") already defined at \[(\d+):\d+\]`)
)

// plain says in plain words what a message of the YAML library means, and what to do. The words of
// a message that it does not know stay, with the remedy given.
func plain(message, remedy string) (string, string) {
	if m := reserved.FindStringSubmatch(message); m != nil {
		return "a value cannot begin with " + m[1], "put the text in quotes"
	}
	if m := doubled.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("the key %s stands twice, first in line %s", m[1], m[2]), "remove one of them"
	}
	for _, s := range syntax {
		if strings.Contains(message, s.told) {
			return s.what, s.remedy
		}
	}
	return message, remedy
}
