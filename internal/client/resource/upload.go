package resource

import "time"

// Upload is the state of a list that is uploaded in parts.
type Upload struct {
	Hash      string    `json:"hash"`                // SHA-256 of the whole list
	Received  int64     `json:"received"`            // bytes from its beginning
	ExpiresAt time.Time `json:"expires_at,omitzero"` // when the server removes it, if no part follows
}
