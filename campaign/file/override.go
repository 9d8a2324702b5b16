package file

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"campaignd/internal/yamlfile"
)

// overridable are the keys of a campaign file that the sidecar of a dropped list may have: how its
// list is read, when it is sent, and how much. The template, the numbers and the policies stay
// those that the operator chose.
var overridable = []string{"recipients", "window", "limits"}

// againKey is the key of a sidecar that is none of the campaign file: launch.Request.Again of its
// list.
const againKey = "again"

// Override merges the sidecar of a list into the campaign file src: a value of the sidecar replaces
// that of the campaign, and maps are merged. again is the sidecar's own key of that name, nil if it
// has none. Messages about the sidecar call it name. A fault of the sidecar is a *Error.
func Override(src []byte, name string, sidecar []byte) (merged []byte, again *bool, err error) {
	s := (&Source{sidecar: true}).read(name, sidecar)
	for _, path := range slices.Sorted(maps.Keys(s.Positions)) {
		switch key, _, nested := strings.Cut(path, "."); {
		case path == "recipients.file":
			s.Add(s.Positions[path], "recipients.file: the list is the file that the sidecar belongs to", "remove the line")
		case !nested && !strings.Contains(key, "[") && key != againKey && !slices.Contains(overridable, key):
			s.Add(s.Positions[path], fmt.Sprintf("%s: a sidecar cannot override it", key),
				"a sidecar has "+strings.Join(append(overridable, againKey), ", "))
		}
	}
	if err := s.err(); err != nil {
		return nil, nil, err
	}
	var base, over yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(yamlfile.Text(src), &base, yaml.UseOrderedMap()); err != nil {
		return nil, nil, fmt.Errorf("campaign file: %w", err)
	}
	if err := yaml.UnmarshalWithOptions(yamlfile.Text(sidecar), &over, yaml.UseOrderedMap()); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if i := slices.IndexFunc(over, func(item yaml.MapItem) bool { return item.Key == againKey }); i >= 0 {
		if value, isBool := over[i].Value.(bool); isBool {
			again = &value
		}
		over = slices.Delete(over, i, i+1)
	}
	if merged, err = yaml.Marshal(merge(base, over)); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := Parse("the campaign with "+name, merged); err != nil {
		return nil, nil, err
	}
	for _, d := range Differences(src, merged) {
		if !slices.ContainsFunc(overridable, func(key string) bool { return strings.HasPrefix(d, key) }) {
			return nil, nil, fmt.Errorf("%s: the campaign cannot be written with it: %s", name, d)
		}
	}
	return merged, again, nil
}

// merge returns a with the values of b.
func merge(a, b yaml.MapSlice) yaml.MapSlice {
	out := slices.Clone(a)
	for _, item := range b {
		at := slices.IndexFunc(out, func(o yaml.MapItem) bool { return o.Key == item.Key })
		if at < 0 {
			out = append(out, item)
			continue
		}
		was, isMap := out[at].Value.(yaml.MapSlice)
		if is, ok := item.Value.(yaml.MapSlice); ok && isMap {
			item.Value = merge(was, is)
		}
		out[at] = item
	}
	return out
}
