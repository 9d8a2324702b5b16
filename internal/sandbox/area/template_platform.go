package area

// PlatformID is the id of a template in the platform's events and at its own API.
func (r *Record) PlatformID() int64 { return 400_000_000_000_001 + int64(r.number) }

// TemplateAt finds the template with this id of the platform that the key reaches, or returns nil.
func (a *Areas) TemplateAt(id int64, key *Key) *Record {
	for _, r := range a.templates.all {
		if !r.gone && r.PlatformID() == id && key.Covers(r.Company) {
			return r
		}
	}
	return nil
}

// AtPlatform makes one call of the platform's own API by the rules of the service's operation
// template_create, template_edit or template_delete. The record belongs to an edit or a deletion.
func (a *Areas) AtPlatform(operation string, r *Record, c *Call) (made *Record, _ *Refusal) {
	if r != nil {
		r.learn()
		c.ID = r.ID
	}
	answer, ref := a.templateHandlers()[operation](c)
	if ref != nil {
		return nil, ref
	}
	if t, ok := answer.(Template); ok {
		return a.templates.byID[t.ID], nil
	}
	return nil, nil
}
