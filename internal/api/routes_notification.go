package api

import (
	"context"
	"net/http"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
)

// OfNotification is the input of a route about one notification.
type OfNotification struct {
	Notification int64 `path:"notification" minimum:"1" example:"12" doc:"the number of a notification"`
}

func (s *Server) notificationRoutes() {
	const one = "/api/v1/notifications/{notification}"
	example := resource.Notification{No: 12, ID: "msg_1", Destination: "ops", Kind: "run.finished", Run: "spring-sale-3",
		Campaign: "spring-sale", At: exampleTime, State: campaign.NotificationSent, Attempts: 1}
	add(s, route{method: http.MethodGet, path: "/api/v1/notifications", id: "notifications", scope: campaign.KeyRead, all: true,
		summary: "Notifications to the operator's own addresses, the newest first"}, []resource.Notification{example},
		func(ctx context.Context, d *operator.Session, in *struct {
			State campaign.NotificationState `query:"state" enum:"waiting,pending,sent,dead" doc:"only those in this state"`
			Limit int                        `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		}) ([]resource.Notification, error) {
			return d.Notifications(ctx, in.State, in.Limit)
		})
	add(s, route{method: http.MethodGet, path: one, id: "notification", summary: "One notification", scope: campaign.KeyRead, all: true,
		errors: []int{404}}, example,
		func(ctx context.Context, d *operator.Session, in *OfNotification) (resource.Notification, error) {
			return d.Notification(ctx, in.Notification)
		})
	add(s, route{method: http.MethodPost, path: one + "/send", id: "send-notification", scope: campaign.KeyOperate, all: true,
		summary: "Send a notification again, for three days from now, with the id that it has", errors: []int{404, 409}}, example,
		func(ctx context.Context, d *operator.Session, in *OfNotification) (resource.Notification, error) {
			return d.SendNotification(ctx, in.Notification)
		})
}

// eraseRoute adds the erasure of a number. The number is in the body, because proxies log paths.
func (s *Server) eraseRoute() {
	add(s, route{method: http.MethodPost, path: "/api/v1/erase", id: "erase", scope: campaign.KeyAdmin, all: true, errors: []int{413},
		summary: "Remove a number from the ledger for ever; repeat it while messages are under way",
		body:    map[string]any{"number": "+2348031239999"}},
		campaign.Erased{Rows: 3}, func(_ context.Context, d *operator.Session, in *struct {
			Body struct {
				Number string `json:"number" minLength:"1" maxLength:"40" doc:"in international form with +"`
			}
		}) (campaign.Erased, error) {
			return d.Erase(s.ctx, in.Body.Number) // to its end, also if the caller leaves
		})
}
