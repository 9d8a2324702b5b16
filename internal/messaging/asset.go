package messaging

import "time"

// Asset is a stored file.
type Asset struct {
	ID string
	// ExpiresAt is 30 days after the upload if the service does not say.
	ExpiresAt time.Time
}
