package shop

// named is a tag.
type named struct {
	Name string `json:"name"`
}

// tags are the tags of a record, as answers show them.
func tags(texts []string) []named {
	all := make([]named, 0, len(texts))
	for _, t := range texts {
		all = append(all, named{t})
	}
	return all
}

// none is a list of a field that the platform shows and the sandbox never fills.
var none = []any{}

// on reads a switch that is true where the scenario does not name it.
func on(b *bool) bool { return b == nil || *b }
