package messaging

import (
	"context"
	"io"
)

// Service is what preflight and launch ask of the messaging service. Each method may block for one
// exchange. Errors are *Error, or ErrNotOffered when the service has no such listing.
type Service interface {
	Connections(ctx context.Context) ([]Connection, error)
	Numbers(ctx context.Context) ([]Number, error)
	Templates(ctx context.Context, connectionID string) ([]TemplateRecord, error)
	// UploadMedia stores a file at the service for 30 days. contentType is the detected type; r is
	// read once.
	UploadMedia(ctx context.Context, connectionID, filename, contentType string, r io.Reader) (Asset, error)
}
