package campaign

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// overridable are the keys of a campaign file that the sidecar of a dropped list may have: how its
// list is read, when it is sent, and how much. The template, the numbers and the policies stay
// those that the operator chose.
var overridable = []string{"recipients", "window", "limits"}

// Override merges the sidecar of a list into the campaign file src: a value of the sidecar replaces
// that of the campaign, and maps are merged. Messages about the sidecar call it name. A fault of
// the sidecar is a *FileError.
func Override(src []byte, name string, sidecar []byte) ([]byte, error) {
	s := readSource(name, sidecar)
	for _, path := range slices.Sorted(maps.Keys(s.positions)) {
		switch key, _, nested := strings.Cut(path, "."); {
		case path == "recipients.file":
			s.add(s.positions[path], "recipients.file: the list is the file that the sidecar belongs to", "remove the line")
		case !nested && !strings.Contains(key, "[") && !slices.Contains(overridable, key):
			s.add(s.positions[path], fmt.Sprintf("%s: a sidecar cannot override it", key), "a sidecar has "+strings.Join(overridable, ", "))
		}
	}
	if err := s.err(); err != nil {
		return nil, err
	}
	var base, over yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(src, &base, yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("campaign file: %w", err)
	}
	if err := yaml.UnmarshalWithOptions(sidecar, &over, yaml.UseOrderedMap()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	merged, err := yaml.Marshal(merge(base, over))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := ParseDefinition("the campaign with "+name, merged); err != nil {
		return nil, err
	}
	for _, d := range Differences(src, merged) {
		if !slices.ContainsFunc(overridable, func(key string) bool { return strings.HasPrefix(d, key) }) {
			return nil, fmt.Errorf("%s: the campaign cannot be written with it: %s", name, d)
		}
	}
	return merged, nil
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
