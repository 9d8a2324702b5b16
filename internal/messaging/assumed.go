package messaging

import "strings"

// Assumed holds our assumptions where the document of the service shows nothing
// (docs/service.md#assumptions). The zero value means the defaults; the sandbox behaves as they
// say. Options.Assumed replaces each of them for a service that differs.
type Assumed struct {
	// ConnectionsPath lists the connections. The document gives it. Default /api/v1/connections.
	ConnectionsPath string
	// NumbersPath lists the health of the numbers. Default /api/v1/numbers. A service that answers 404
	// does not offer it.
	NumbersPath string
	// TemplatesPath lists the templates of the connection in ?connectionId=. Default
	// /api/v1/templates.
	TemplatesPath string
	// MediaPath stores a file. The document gives the path, not the form. Default /api/v1/media.
	MediaPath string
	// MediaFileField and MediaConnectionField name the parts of the multipart form. Defaults: file and
	// connectionId.
	MediaFileField, MediaConnectionField string
	// WebhooksPath registers and lists endpoints; DELETE of WebhooksPath/ID removes one. Default
	// /api/v1/webhooks.
	WebhooksPath string
	// Fields renames fields of answers, for example "numbers.qualityRating": "quality". The key is a
	// listing (connections, numbers, templates, media, webhooks), a dot and our name of the field; the
	// value is the service's name. The service's name is looked for before ours. Default: none.
	Fields map[string]string
	// Events renames event types. The key is the service's name; the value is one of ours:
	// message.status, message.received, template.status, number.updated, account.updated,
	// preference.updated. Default: none.
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

// The names of the fields of the answers, in the order in which they are looked for. The first is
// our assumption (docs/service.md#assumptions); the others are the names that the platform and
// similar services use. Case and underscores do not matter.
var (
	connectionFields = map[string][]string{
		"id":          {"id", "connectionId"},
		"phoneNumber": {"phoneNumber", "displayPhoneNumber", "phone", "number"},
		"displayName": {"displayName", "verifiedName", "name"},
		"companyId":   {"companyId", "company", "clientId"},
		"accountId":   {"accountId", "wabaId", "businessAccountId"},
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

// record reads one object of an answer by our names of its fields.
type record struct {
	fields map[string]value // by foldName
	names  map[string][]string
	rename func(name string) string
}

func (a *Assumed) record(listing string, names map[string][]string, v value) record {
	rename := func(name string) string { return a.Fields[listing+"."+name] }
	r := record{fields: make(map[string]value, 8), names: names, rename: rename}
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
