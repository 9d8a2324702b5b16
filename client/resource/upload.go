package resource

import "time"

// Upload is how much of a list has come in parts.
type Upload struct {
	Hash      string    `json:"hash"`                // SHA-256 of the whole list
	Received  int64     `json:"received"`            // bytes from its beginning
	ExpiresAt time.Time `json:"expires_at,omitzero"` // when it is forgotten, if no part follows
}
