package campaign

import (
	"context"
	"io"

	"campaignd/internal/messaging"
)

// Service is what preflight and launch ask of the messaging service. Each method may block for one
// exchange. Errors are *messaging.Error, or messaging.ErrNotOffered when the service has no such
// listing.
type Service interface {
	Connections(ctx context.Context) ([]messaging.Connection, error)
	Numbers(ctx context.Context) ([]messaging.Number, error)
	Templates(ctx context.Context, connectionID string) ([]messaging.TemplateRecord, error)
	// UploadMedia stores a file at the service for 30 days. contentType is the detected type; r is
	// read once.
	UploadMedia(ctx context.Context, connectionID, filename, contentType string, r io.Reader) (messaging.Asset, error)
}
