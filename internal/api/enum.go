package api

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"campaignd/campaign"
	"campaignd/campaign/wording"
)

// limitedBy gives campaign.LimitedBy its schema: the closed list, with the meaning of each word.
type limitedBy string

// Schema implements huma.SchemaProvider.
func (limitedBy) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: "What limits it:"}
	for _, m := range wording.Limits() {
		s.Enum = append(s.Enum, string(m.By))
		s.Description += "\n- `" + string(m.By) + "`: " + m.Meaning
	}
	return s
}

// registry returns the registry of the document's schemas.
func registry() huma.Registry {
	r := huma.NewMapRegistry("#/components/schemas/", schemaName)
	r.RegisterTypeAlias(reflect.TypeFor[campaign.LimitedBy](), reflect.TypeFor[limitedBy]())
	r.RegisterTypeAlias(reflect.TypeFor[json.Number](), reflect.TypeFor[float64]()) // its digits are kept, its type is a number
	return r
}
