package service

import (
	"context"
	"time"
)

// File is a file that the service keeps.
type File struct {
	ID          string    `wire:"assetId" json:"assetId"`
	Filename    string    `wire:"filename" json:"filename"`
	ContentType string    `wire:"contentType" json:"contentType"`
	Size        int64     `wire:"size" json:"size"` // bytes
	ExpiresAt   time.Time `wire:"expiresAt" json:"expiresAt"`
	CreatedAt   time.Time `wire:"createdAt" json:"createdAt"`
}

// Files lists the files of the company of a connection, or all of the key with "".
func (c *Client) Files(ctx context.Context, connectionID string) ([]File, error) {
	return all[File](ctx, c, "media_list", "", fields{"connectionId": connectionID})
}

// DeleteFile removes a file. A message that names it fails from then on.
func (c *Client) DeleteFile(ctx context.Context, id string) error {
	return c.done(ctx, "media_delete", id, nil)
}
