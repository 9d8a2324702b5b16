package api

import (
	"reflect"
	"testing"

	"campaignd/campaign/why"
	"campaignd/campaign/wording"
)

func TestTheDocumentListsEachLimit(t *testing.T) {
	r := registry()
	r.Schema(reflect.TypeFor[why.Answer](), true, "")
	for schema, property := range map[string]string{"Why": "limited_by", "LaneState": "limited_by", "WhyWait": "for"} {
		got := r.Map()[schema].Properties[property].Enum
		all := wording.Limits()
		if len(got) != len(all) {
			t.Errorf("%s.%s: got %v, want %d values", schema, property, got, len(all))
			continue
		}
		for i, m := range all {
			if got[i] != string(m.By) {
				t.Errorf("%s.%s: got %v, want %s", schema, property, got[i], m.By)
			}
		}
	}
}
