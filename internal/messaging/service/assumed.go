package service

import (
	"errors"
	"fmt"
	"strings"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

// Assumed has the assumptions that a configuration can replace, where the document of the service
// shows nothing (docs/service.md#assumptions). The zero value means the defaults; the sandbox
// behaves as they say.
type Assumed struct {
	// Paths replaces method and path of operations by name, written [METHOD ]PATH such as
	// POST /v2/tpl/{id}. Default: internal/operations.
	Paths map[string]string
	// RetryAfter is the header with the time to wait. Default Retry-After.
	RetryAfter string
	// Throttled lists answers that mean "slow down" besides 429 and the platform's codes. A StatusCode
	// without a code means every answer with that status; it is an error for a status that proves
	// nothing (5xx, 408, 409, 499). Default: none.
	Throttled []messaging.StatusCode
}

// Validate returns the first fault, with the name of the field of Assumed in lower case.
func (a Assumed) Validate() error {
	if _, err := newRoutes(a.Paths); err != nil {
		return fmt.Errorf("paths: %w", err)
	}
	for _, t := range a.Throttled {
		if t.Status < 400 || t.Status > 599 || t.Code == "" && messaging.Doubtful(t.Status) {
			return errors.New("throttled: give a status from 400 to 599, and for 5xx, 408, 409 and 499 also the error code")
		}
	}
	if strings.ContainsAny(a.RetryAfter, " :\t\r\n") {
		return fmt.Errorf("retry_after: %q is not the name of a header", a.RetryAfter)
	}
	return nil
}

// The names of the fields of the answers, in the order in which they are tried. The first is our
// assumption (docs/service.md#assumptions); the others are the names that the platform and similar
// services use. Case and underscores do not matter.
var (
	connectionFields = map[string][]string{
		"id":          {"id", "connectionId"},
		"phoneNumber": {"phoneNumber", "displayPhoneNumber", "phone", "number"},
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
		"reason":     {"reason", "rejectedReason"},
	}
	componentFields = map[string][]string{
		"type": {"type"}, "format": {"format"}, "text": {"text"}, "buttons": {"buttons"}, "example": {"example"},
	}
	exampleFields = map[string][]string{
		"header_handle": {"header_handle"}, "header_text": {"header_text"}, "body_text": {"body_text"},
	}
	buttonFields = map[string][]string{
		"type": {"type"}, "text": {"text"}, "url": {"url"}, "phone_number": {"phone_number"}, "example": {"example"},
	}
	mediaFields = map[string][]string{
		"assetId":   {"assetId", "id"},
		"expiresAt": {"expiresAt", "expires", "deletedAt"},
	}
	webhookFields = map[string][]string{
		"id":     {"id", "webhookId", "endpointId"},
		"url":    {"url", "endpoint"},
		"secret": {"secret", "signingSecret"},
		"events": {"events", "eventTypes"},
	}
	replayFields = map[string][]string{"deliveries": {"deliveries", "replayed", "count"}}
)

// record reads one object of an answer by our names of its fields.
type record struct {
	fields map[string]rawjson.Value // by foldName
	names  map[string][]string
}

func recordOf(names map[string][]string, v rawjson.Value) record {
	r := record{fields: make(map[string]rawjson.Value, 8), names: names}
	if v.IsObject() {
		for m := v.Members(); m.Next(); {
			r.fields[foldName(string(m.Key))] = m.Val
		}
	}
	return r
}

func (r record) get(name string) rawjson.Value {
	for _, n := range r.names[name] {
		if v, ok := r.fields[foldName(n)]; ok && !v.IsNull() {
			return v
		}
	}
	return nil
}

func (r record) text(name string) string { return r.get(name).Text() }

// at returns the member of v at a path such as cursors.after, or nil. Case and underscores do not
// matter.
func at(v rawjson.Value, path string) rawjson.Value {
	for name := range strings.SplitSeq(path, ".") {
		var found rawjson.Value
		for m := v.Members(); v.IsObject() && m.Next(); {
			if foldName(string(m.Key)) == foldName(name) {
				found = m.Val
			}
		}
		if v = found; v == nil {
			return nil
		}
	}
	return v
}

func foldName(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
