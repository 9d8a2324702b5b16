package config

import (
	"github.com/invopop/jsonschema"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/operations"
)

// Assumed replaces what campaignd assumes where the service's document shows nothing
// (docs/service.md#assumptions).
type Assumed struct {
	// Method and path of operations by name, written [METHOD ]PATH such as POST /v2/tpl/{id}.
	Paths AssumedPaths `yaml:"paths" json:"paths"`
	// Header of an answer that tells how long to wait.
	RetryAfter string `yaml:"retry_after" json:"retry_after"`
	// Answers that mean "slow down", besides 429 and the platform's codes.
	Throttled []Throttled `yaml:"throttled" json:"throttled"`
}

// AssumedPaths are [METHOD ]PATH by the name of the operation (docs/service.md#assumed-operations).
type AssumedPaths map[string]string

// JSONSchema returns a schema with one property for each operation of the table.
func (AssumedPaths) JSONSchema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for _, o := range operations.All {
		route := o.Method + " " + o.Path
		s.Properties.Set(o.Name, &jsonschema.Schema{Type: "string", Description: "Replaces " + route + "."})
	}
	return s
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
func defaultAssumed() Assumed { return Assumed{RetryAfter: "Retry-After"} }

// Assumptions returns the assumptions as the client takes them.
func (s Service) Assumptions() service.Assumed {
	a := s.Assumed
	m := service.Assumed{Paths: a.Paths, RetryAfter: a.RetryAfter}
	for _, t := range a.Throttled {
		m.Throttled = append(m.Throttled, messaging.StatusCode{Status: t.Status, Code: t.Error})
	}
	return m
}
