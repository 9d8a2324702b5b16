package messaging

import "strings"

// Assumed is what we assume where the service's document says "not shown" (design
// section 9). The zero value means the defaults below; the sandbox meets them. Each can be
// replaced by configuration once the real service has been seen.
type Assumed struct {
	// ConnectionsPath lists connections; given by the document. Default /api/v1/connections.
	ConnectionsPath string
	// NumbersPath lists number health. Default /api/v1/numbers; an answer of 404 means that the
	// service does not offer it.
	NumbersPath string
	// TemplatesPath lists templates, with ?connectionId=. Default /api/v1/templates.
	TemplatesPath string
	// MediaPath stores a file; the path is given by the document, the form is assumed. Default /api/v1/media.
	MediaPath string
	// MediaFileField and MediaConnectionField name the parts of the multipart form. Defaults file and connectionId.
	MediaFileField, MediaConnectionField string
	// WebhooksPath registers and lists endpoints; DELETE of WebhooksPath/ID removes one. Default /api/v1/webhooks.
	WebhooksPath string
	// Fields renames fields of answers: "numbers.qualityRating": "quality". The key is
	// the listing (connections, numbers, templates, media, webhooks) and our name; the value is the
	// service's name, which is then looked for before ours.
	Fields map[string]string
	// Events renames event types: the service's name to one of ours (message.status, message.received,
	// template.status, number.updated, account.updated, preference.updated).
	Events map[string]string
}

func (a Assumed) withDefaults() Assumed {
	for _, d := range []struct {
		at   *string
		path string
	}{
		{&a.ConnectionsPath, "/api/v1/connections"},
		{&a.NumbersPath, "/api/v1/numbers"},
		{&a.TemplatesPath, "/api/v1/templates"},
		{&a.MediaPath, "/api/v1/media"},
		{&a.WebhooksPath, "/api/v1/webhooks"},
		{&a.MediaFileField, "file"},
		{&a.MediaConnectionField, "connectionId"},
	} {
		if *d.at == "" {
			*d.at = d.path
		}
	}
	return a
}

// The names under which the answers' fields are looked for, in this order; the
// first is the assumption of design section 9, the others are what the platform and services like this
// one write (platform.md 2, 5, 8). Case and underscores do not matter.
var (
	connectionFields = map[string][]string{
		"id":          {"id", "connectionId"},
		"phoneNumber": {"phoneNumber", "displayPhoneNumber", "phone", "number"},
		"displayName": {"displayName", "verifiedName", "name"},
		"companyId":   {"companyId", "company", "clientId"},
		"status":      {"status", "state"},
	}
	numberFields = map[string][]string{
		"connectionId":       {"connectionId", "id"},
		"phoneNumber":        {"phoneNumber", "displayPhoneNumber", "phone", "number"},
		"qualityRating":      {"qualityRating", "quality"},
		"messagingLimitTier": {"messagingLimitTier", "whatsappBusinessManagerMessagingLimit", "messagingLimit", "tier"},
		"throughput":         {"throughput", "throughputLevel"},
		"coexistence":        {"coexistence", "isOnBizApp"},
	}
	templateFields = map[string][]string{
		"id":         {"id", "templateId"},
		"name":       {"name"},
		"language":   {"language", "locale"},
		"status":     {"status"},
		"category":   {"category"},
		"components": {"components"},
	}
	mediaFields = map[string][]string{
		"assetId":      {"assetId", "id"},
		"expiresAt":    {"expiresAt", "expires", "deletedAt"},
		"headerHandle": {"headerHandle"},
	}
	webhookFields = map[string][]string{
		"id":     {"id", "webhookId", "endpointId"},
		"url":    {"url", "endpoint"},
		"secret": {"secret", "signingSecret"},
		"events": {"events", "eventTypes"},
	}
)

// record reads one answer's object by our names for its fields.
type record struct {
	fields map[string]value // by folded name
	names  map[string][]string
	rename func(name string) string
}

func (a *Assumed) record(listing string, names map[string][]string, v value) record {
	r := record{fields: make(map[string]value, 8), names: names, rename: func(name string) string { return a.Fields[listing+"."+name] }}
	if v.isObject() {
		for m := v.members(); m.next(); {
			r.fields[foldName(string(m.key))] = m.val
		}
	}
	return r
}

func (r record) get(name string) value {
	if theirs := r.rename(name); theirs != "" {
		if v, ok := r.fields[foldName(theirs)]; ok {
			return v
		}
	}
	for _, n := range r.names[name] {
		if v, ok := r.fields[foldName(n)]; ok && !v.isNull() {
			return v
		}
	}
	return nil
}

func (r record) text(name string) string { return r.get(name).text() }

func foldName(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
