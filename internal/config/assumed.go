package config

import (
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
)

// Assumed replaces what campaignd assumes where the service's document shows nothing
// (docs/service.md#assumptions).
type Assumed struct {
	// Paths of the endpoints.
	Paths AssumedPaths `yaml:"paths" json:"paths"`
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
			Media: "/api/v1/media", Webhooks: "/api/v1/webhooks", WebhookReplay: "/api/v1/webhooks/replay"},
		RetryAfter: "Retry-After",
	}
}

// Assumptions returns the assumptions as the client takes them.
func (s Service) Assumptions() service.Assumed {
	a := s.Assumed
	m := service.Assumed{
		ConnectionsPath: a.Paths.Connections, NumbersPath: a.Paths.Numbers, TemplatesPath: a.Paths.Templates,
		MediaPath: a.Paths.Media, WebhooksPath: a.Paths.Webhooks, ReplayPath: a.Paths.WebhookReplay,
		RetryAfter: a.RetryAfter,
	}
	for _, t := range a.Throttled {
		m.Throttled = append(m.Throttled, messaging.StatusCode{Status: t.Status, Code: t.Error})
	}
	return m
}
