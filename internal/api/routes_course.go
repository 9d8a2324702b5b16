package api

import (
	"context"
	"net/http"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
)

// seriesInput is the input of the course of a run.
type seriesInput struct {
	OfRun
	Step int64 `query:"step" minimum:"0" maximum:"31622400" default:"60" doc:"least seconds between the points, which begin at its multiples"`
}

// courseRoutes are the routes about what happened to a run in time.
func (s *Server) courseRoutes() {
	const one = "/api/v1/runs/{run}"
	add(s, route{method: http.MethodGet, path: one + "/series", id: "series", scope: campaign.KeyRead, errors: []int{404, 503},
		summary: "What became of a run in time, by number and by country"},
		resource.Series{Run: "spring-sale-3", At: exampleTime, StepSeconds: 60,
			Points:      []resource.SeriesPoint{{At: exampleTime, Accepted: 4800, Delivered: 4512, Read: 310, Failed: 12}},
			Connections: []resource.ConnectionTotals{{Connection: "conn_1", Totals: map[campaign.Status]int64{campaign.Delivered: 4512}}},
			Countries:   []resource.CountryTotals{{Country: "NG", Rows: 5000, Accepted: 4800, Delivered: 4512, Read: 310, Failed: 12}},
			Delivery: resource.DeliveryTimes{P50: 1450, P90: 4100, P99: 61000,
				Buckets: []resource.LatencyBucket{{From: 1384, To: 1522, N: 812}}}},
		func(ctx context.Context, d *operator.Session, in *seriesInput) (out resource.Series, err error) {
			err = s.reading(ctx, func() error {
				out, err = d.Series(ctx, in.Run, time.Duration(in.Step)*time.Second)
				return err
			})
			return out, err
		})
	add(s, route{method: http.MethodGet, path: one + "/history", id: "history", scope: campaign.KeyRead, errors: []int{404},
		summary: "What happened to a run: states, limits, holds, and what limited each lane"},
		campaign.History{
			Entries: []campaign.HistoryEntry{{At: exampleTime, Kind: campaign.HistoryWanted, Value: string(campaign.WantPause),
				Who: "key 3f9a1c02 (dashboard)"}},
			Lanes: []campaign.LanePoint{{At: exampleTime, Connection: "conn_1", Owner: "replica-1", LimitedBy: campaign.ByThroughput,
				Rate: 68.4}},
		},
		func(ctx context.Context, d *operator.Session, in *OfRun) (campaign.History, error) {
			return d.History(ctx, in.Run)
		})
}
