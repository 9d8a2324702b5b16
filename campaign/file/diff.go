package file

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"campaignd/internal/sentence"
)

// Differences lists the changes from campaign file a to campaign file b, one line for each value:
// `limits.rate: was 40, is 80`. Comments, order, spelling and written-out defaults do not count.
// The result is empty when both files mean the same.
func Differences(a, b []byte) []string {
	was, wasErr := plainDefinition(ParseStored("campaign", a))
	is, isErr := plainDefinition(Parse("campaign", b))
	switch {
	case wasErr != nil && isErr != nil && string(a) == string(b):
		return nil
	case wasErr != nil && isErr != nil:
		return []string{"neither file can be read by this version, and they differ"}
	case wasErr != nil:
		return []string{"the file that the run was launched with cannot be read by this version"}
	case isErr != nil:
		return []string{"the file cannot be read any more: " + sentence.FirstLine(isErr.Error())}
	}
	var out []string
	compare("", was, is, &out)
	return out
}

// plainDefinition is the meaning of a file with its defaults, as maps, lists and scalars.
func plainDefinition(d *Definition, err error) (v any, _ error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(text, &v)
	return v, err
}

func compare(path string, was, is any, out *[]string) {
	switch w := was.(type) {
	case map[string]any:
		if i, ok := is.(map[string]any); ok {
			keys := maps.Clone(w)
			maps.Copy(keys, i)
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				at := k
				if path != "" {
					at = path + "." + k
				}
				compare(at, w[k], i[k], out)
			}
			return
		}
	case []any:
		if i, ok := is.([]any); ok && len(i) == len(w) {
			for n := range w {
				compare(path+"["+strconv.Itoa(n)+"]", w[n], i[n], out)
			}
			return
		}
	}
	if x, y := describe(was), describe(is); x != y {
		*out = append(*out, fmt.Sprintf("%s: was %s, is %s", path, x, y))
	}
}

// describe writes a value as JSON; an absent value and an empty map are "not set".
func describe(v any) string {
	text, _ := json.Marshal(v) // cannot fail: v was just unmarshalled
	switch s := string(text); s {
	case "null", "{}", `""`, "false", "0":
		return "not set"
	default:
		return sentence.Shorten(s, 120)
	}
}
