package resource

import "time"

// Key is a key of the operator's API, without its secret.
type Key struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Scope is read, operate or admin. operate includes read, and admin includes both.
	Scope string `json:"scope"`
	// Company limits the key to the runs of one company of the service; "" means no limit.
	Company   string     `json:"company,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"` // nil: the key is valid
}

// NewKey is a new key with its secret, which no later answer shows.
type NewKey struct {
	Key
	Secret string `json:"secret"`
}

// Browser is a session that is signed in to the console.
type Browser struct {
	ID        string    `json:"id"`
	By        string    `json:"by"` // key ID (NAME), or USER@HOST
	CreatedAt time.Time `json:"created_at"`
	SeenAt    time.Time `json:"seen_at"` // its latest request, to a minute
}

// Action is a line of the log of actions: one request of an operator.
type Action struct {
	ID     string    `json:"id"`
	At     time.Time `json:"at"`
	By     string    `json:"by"`   // key ID (NAME), or USER@HOST
	What   string    `json:"what"` // the command: pause, holds add, keys create
	On     string    `json:"on"`   // a run, a key, a scope and its id
	Detail string    `json:"detail,omitempty"`
}
