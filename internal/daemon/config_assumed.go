package daemon

import "campaignd/internal/messaging"

// Assumed replaces what campaignd assumes where the service's document shows nothing
// (docs/service.md#assumptions).
type Assumed struct {
	// Paths of the endpoints.
	Paths AssumedPaths `yaml:"paths" json:"paths"`
	// Names of parameters of requests.
	Parameters AssumedParameters `yaml:"parameters" json:"parameters"`
	// Where the list stands in the answer of a listing (connections, numbers, templates, webhooks),
	// such as numbers: result.items. Without an entry it stands under data, or is the answer itself.
	Lists map[string]string `yaml:"lists" json:"lists"`
	// How a page of a listing names the next one.
	Cursor AssumedCursor `yaml:"cursor" json:"cursor"`
	// The service's names of fields, such as numbers.qualityRating: health.quality. The keys are those
	// of docs/service.md#assumptions; dots in a value lead into objects.
	Fields map[string]string `yaml:"fields" json:"fields"`
	// The service's types of events, such as dlr: message.status. A value is message.status,
	// message.received, template.status, number.updated, account.updated or preference.updated.
	Events map[string]string `yaml:"events" json:"events"`
	// Further forms of times, as layouts of Go, such as 2006-01-02 15:04:05 for a time in UTC. RFC
	// 3339 and unix numbers are always understood.
	Timestamps []string `yaml:"timestamps" json:"timestamps"`
	// Header of an answer that tells how long to wait.
	RetryAfter string `yaml:"retry_after" json:"retry_after"`
	// Answers that mean "slow down", besides 429 and the platform's codes.
	Throttled []Throttled `yaml:"throttled" json:"throttled"`
}

// AssumedPaths are the paths of the endpoints.
type AssumedPaths struct {
	// Lists the connections.
	Connections string `yaml:"connections" json:"connections"`
	// Lists the health of the numbers. A service that answers 404 does not offer it.
	Numbers string `yaml:"numbers" json:"numbers"`
	// Lists the templates of a connection.
	Templates string `yaml:"templates" json:"templates"`
	// Stores a file.
	Media string `yaml:"media" json:"media"`
	// Registers, lists and removes endpoints for events.
	Webhooks string `yaml:"webhooks" json:"webhooks"`
	// Posts past events again. A service that answers 404 does not offer it.
	WebhookReplay string `yaml:"webhook_replay" json:"webhook_replay"`
}

// AssumedParameters are names of parameters of requests.
type AssumedParameters struct {
	// Parameter of the query that names the connection whose templates are listed.
	TemplateConnection string `yaml:"template_connection" json:"template_connection"`
	// Part of the upload that holds the file.
	MediaFile string `yaml:"media_file" json:"media_file"`
	// Part of the upload that names the connection.
	MediaConnection string `yaml:"media_connection" json:"media_connection"`
}

// AssumedCursor is how a page of a listing names the next one.
type AssumedCursor struct {
	// Field of the answer with the cursor or the address of the next page, such as meta.next. Empty:
	// the names that services use (docs/service.md#pages-of-listings).
	Field string `yaml:"field" json:"field"`
	// Parameter of the query that takes the cursor. Empty: the one that goes with the field.
	Parameter string `yaml:"parameter" json:"parameter"`
}

// Throttled is one answer that means "slow down".
type Throttled struct {
	// HTTP status, from 400 to 599.
	Status int `yaml:"status" json:"status" jsonschema:"minimum=400,maximum=599"`
	// The error code in the body. Empty: every answer with that status, but not with 408, 409, 499 or
	// 5xx.
	Error string `yaml:"error" json:"error"`
}

// defaultAssumed are the assumptions themselves.
func defaultAssumed() Assumed {
	return Assumed{
		Paths: AssumedPaths{Connections: "/api/v1/connections", Numbers: "/api/v1/numbers", Templates: "/api/v1/templates",
			Media: "/api/v1/media", Webhooks: "/api/v1/webhooks",
			WebhookReplay: "/api/v1/webhooks/replay"},
		Parameters: AssumedParameters{TemplateConnection: "connectionId", MediaFile: "file", MediaConnection: "connectionId"},
		RetryAfter: "Retry-After",
	}
}

// assumed returns the assumptions as the client and the intake take them.
func (s Service) assumed() messaging.Assumed {
	a := s.Assumed
	m := messaging.Assumed{
		ConnectionsPath: a.Paths.Connections, NumbersPath: a.Paths.Numbers, TemplatesPath: a.Paths.Templates,
		MediaPath: a.Paths.Media, WebhooksPath: a.Paths.Webhooks, ReplayPath: a.Paths.WebhookReplay,
		TemplatesParameter: a.Parameters.TemplateConnection, MediaFileField: a.Parameters.MediaFile,
		MediaConnectionField: a.Parameters.MediaConnection,
		Lists:                a.Lists, CursorField: a.Cursor.Field, CursorParameter: a.Cursor.Parameter,
		Fields: a.Fields, Events: a.Events, Timestamps: a.Timestamps, RetryAfter: a.RetryAfter,
	}
	for _, t := range a.Throttled {
		m.Throttled = append(m.Throttled, messaging.StatusCode{Status: t.Status, Code: t.Error})
	}
	return m
}
