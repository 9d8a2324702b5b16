package api

import (
	"context"
	"net/http"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/operator"
)

// ofConnection is the input of a route that asks the messaging service.
type ofConnection struct {
	Connection string `query:"connection" maxLength:"200" example:"conn_1" doc:"a connection of the account"`
}

// serviceRoutes are answered by the messaging service: a connection may be left out if the key
// reaches one account only.
func (s *Server) serviceRoutes() {
	errors := []int{404, 501, 502}
	add(s, route{method: http.MethodGet, path: "/api/v1/templates", id: "templates", scope: campaign.KeyRead, errors: errors,
		summary: "The templates of an account, as the service lists them"},
		[]messaging.TemplateRecord{{ID: "tpl_1", Name: "spring_sale", Language: "en_US", Status: "APPROVED", Category: "MARKETING",
			Components: []messaging.Component{{Type: "BODY", Text: "Our spring sale begins today"}}}},
		func(ctx context.Context, d *operator.Session, in *ofConnection) ([]messaging.TemplateRecord, error) {
			return d.Templates(ctx, in.Connection)
		})
	add(s, route{method: http.MethodPost, path: "/api/v1/templates/sync", id: "sync-templates", scope: campaign.KeyOperate, errors: errors,
		summary: "Have the service read the templates of an account from the platform again"},
		service.TemplateSync{Added: 1}, func(ctx context.Context, d *operator.Session, in *ofConnection) (service.TemplateSync, error) {
			return d.SyncTemplates(ctx, in.Connection)
		})
	add(s, route{method: http.MethodGet, path: "/api/v1/media", id: "media", scope: campaign.KeyRead, errors: errors,
		summary: "The files that the service keeps: of the company of a connection, or of all that the key reaches"},
		[]service.File{{ID: "ast_1", Filename: "banner.jpg", ContentType: "image/jpeg", Size: 52_000, CreatedAt: exampleTime,
			ExpiresAt: exampleTime.AddDate(0, 0, 30)}},
		func(ctx context.Context, d *operator.Session, in *ofConnection) ([]service.File, error) {
			return d.Media(ctx, in.Connection)
		})
}
