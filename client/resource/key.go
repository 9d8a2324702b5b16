package resource

import "time"

// Key is a key of the operator's API, without its secret.
type Key struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Scope is read, operate or admin; each includes those before it.
	Scope string `json:"scope"`
	// Company is the client of the service whose runs alone the key reaches; "": those of all.
	Company   string     `json:"company,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"` // nil: in force
}

// NewKey is a key that was just made. Nobody can read its secret a second time.
type NewKey struct {
	Key
	Secret string `json:"secret"`
}

// Action is one thing that an operator asked for: a line of the log of actions.
type Action struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`   // key ID (NAME), or USER@HOST
	What   string    `json:"what"` // the command: pause, holds add, keys create
	On     string    `json:"on"`   // a run, a key, a scope and its id
	Detail string    `json:"detail,omitempty"`
}
