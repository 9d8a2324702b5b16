package messaging

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// reshaper writes the objects of an event under our names, as Assumed says. The zero value changes
// nothing.
type reshaper struct {
	names   map[string]map[string]string // by shape: our name, the service's path
	layouts []string
}

func (a *Assumed) reshaper() reshaper {
	r := reshaper{layouts: a.Timestamps}
	for key, path := range a.Fields {
		shape, name, _ := strings.Cut(key, ".")
		if _, ok := eventFields[shape]; !ok {
			continue
		}
		if r.names == nil {
			r.names = map[string]map[string]string{}
		}
		if r.names[shape] == nil {
			r.names[shape] = map[string]string{}
		}
		r.names[shape][name] = path
	}
	return r
}

// timeFields are our names of times.
var timeFields = []string{"createdAt", "timestamp", "expiresAt"}

// object returns v with our names for the members of a shape. The other members stay.
func (r *reshaper) object(shape string, v value) value {
	names := r.names[shape]
	if len(names) == 0 && len(r.layouts) == 0 && len(r.names["error"]) == 0 || !v.isObject() {
		return v
	}
	members := make(map[string]json.RawMessage, 8)
	for m := v.members(); m.next(); {
		members[string(m.key)] = json.RawMessage(m.val)
	}
	for _, ours := range slices.Sorted(maps.Keys(names)) {
		if there := v.at(names[ours]); there != nil {
			members[ours] = json.RawMessage(there)
		}
	}
	if shape == "status" && members["error"] != nil {
		members["error"] = json.RawMessage(r.object("error", value(members["error"])))
	}
	for _, name := range timeFields {
		if at, ok := r.time(value(members[name])); ok {
			members[name] = json.RawMessage(`"` + at.Format(time.RFC3339Nano) + `"`)
		}
	}
	text, err := json.Marshal(members)
	if err != nil { // the members come from valid JSON
		return v
	}
	return text
}

// time reads a time in one of the configured forms.
func (r *reshaper) time(v value) (time.Time, bool) {
	if !v.isString() || !v.stamp().IsZero() {
		return time.Time{}, false
	}
	for _, layout := range r.layouts {
		if at, err := time.Parse(layout, strings.TrimSpace(v.text())); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}
