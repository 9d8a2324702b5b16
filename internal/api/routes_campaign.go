package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
)

var (
	exampleCampaign = resource.Campaign{Name: "spring-sale", File: "spring.yaml", List: "list.csv", Connections: []string{"conn_1"},
		Template: "spring_sale", Language: "en_US", Schedule: "0 9 * * MON", Timezone: "Africa/Lagos", Next: exampleTime}
	exampleFiring = resource.Firing{Campaign: "spring-sale", File: "spring.yaml", Schedule: "0 9 * * MON", Timezone: "Africa/Lagos",
		At: exampleTime, Local: "Mon 2026-03-02 10:00 WAT", Outcome: "launched", Run: "spring-sale-3"}
	exampleDrop = resource.Drop{File: 7, Bucket: "file:inbox", Key: "list.csv", Campaign: "spring-sale", State: "settled",
		Run: "spring-sale-3", Place: "done/list.csv", Bytes: 5200, TakenAt: exampleTime}
	examplePreflight = &launch.Preflight{Campaign: "spring-sale", List: "list.csv", Rows: 3, Sendable: 2, Pace: 72, Seconds: 1,
		Skipped: map[campaign.SkipReason]int64{campaign.Duplicate: 1}}
)

// OfCampaign is the input of a route about one campaign.
type OfCampaign struct {
	Campaign string `path:"campaign" maxLength:"200" example:"spring-sale" doc:"the name of a campaign of the folder"`
}

// listFirings is the input of the list of firings.
type listFirings struct {
	Campaign string `query:"campaign" maxLength:"200" doc:"only runs of this campaign"`
	Next     int    `query:"next" minimum:"0" maximum:"1000" default:"3" doc:"firings to come, of each campaign"`
	Last     int    `query:"last" minimum:"0" maximum:"1000" default:"3" doc:"past firings, of each campaign"`
}

// checksAtOnce is the largest number of lists that are read at a time for checks, forecasts and
// audits. Each takes one core.
const checksAtOnce = 2

// checking calls do with the file of a campaign, unless enough lists are being read.
func (s *Server) checking(ctx context.Context, d *operator.Session, name string, do func(operator.File) error) error {
	files, err := s.process.Folder()
	if err != nil {
		return err
	}
	f, _, err := d.Campaign(ctx, files, name)
	if err != nil {
		return err
	}
	return s.reading(ctx, func() error { return do(f) })
}

// maxReading is the longest time for reading a whole list. A slow disk needs 90 s for 4 GiB.
const maxReading = 10 * time.Minute

// reading calls do, which reads a whole list, unless enough lists are being read.
func (s *Server) reading(ctx context.Context, do func() error) error {
	select {
	case s.checks <- struct{}{}:
		defer func() { <-s.checks }()
		err := requestOf(ctx).body.c.SetWriteDeadline(time.Now().Add(maxReading))
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		return do()
	default:
		return &Error{http.StatusServiceUnavailable, client.CodeBusy,
			strconv.Itoa(checksAtOnce) + " lists are being read; try again in a moment", nil}
	}
}

func (s *Server) folderRoutes() {
	const one = "/api/v1/campaigns/{campaign}"
	add(s, route{method: http.MethodGet, path: "/api/v1/campaigns", id: "campaigns", summary: "The files of the campaigns folder",
		scope: campaign.KeyRead}, []resource.Campaign{exampleCampaign},
		func(ctx context.Context, d *operator.Session, _ *struct{}) ([]resource.Campaign, error) {
			files, err := s.process.Folder()
			if err != nil {
				return nil, err
			}
			return d.Campaigns(ctx, files)
		})
	add(s, route{method: http.MethodGet, path: one, id: "campaign", summary: "One file of the campaigns folder", scope: campaign.KeyRead,
		errors: []int{404}}, exampleCampaign,
		func(ctx context.Context, d *operator.Session, in *OfCampaign) (resource.Campaign, error) {
			files, err := s.process.Folder()
			if err != nil {
				return resource.Campaign{}, err
			}
			_, c, err := d.Campaign(ctx, files, in.Campaign)
			return c, err
		})
	reads := []int{404, 422, 503}
	add(s, route{method: http.MethodGet, path: one + "/check", id: "check", scope: campaign.KeyRead, errors: reads,
		summary: "What a launch of a campaign over its list would do: the whole list is read"}, examplePreflight,
		func(ctx context.Context, d *operator.Session, in *OfCampaign) (found *launch.Preflight, err error) {
			err = s.checking(ctx, d, in.Campaign, func(f operator.File) error {
				found, err = s.process.Check(ctx, f, "")
				return err
			})
			return found, err
		})
	add(s, route{method: http.MethodGet, path: one + "/forecast", id: "forecast-campaign", scope: campaign.KeyRead, errors: reads,
		summary: "When a campaign would be done if it were launched now: the whole list is read"}, plan.Forecast{LimitedBy: campaign.ByNone},
		func(ctx context.Context, d *operator.Session, in *OfCampaign) (out plan.Forecast, err error) {
			err = s.checking(ctx, d, in.Campaign, func(f operator.File) error {
				out, err = s.process.ForecastLaunch(ctx, f, "")
				return err
			})
			return out, err
		})
	add(s, route{method: http.MethodGet, path: "/api/v1/schedules", id: "schedules", scope: campaign.KeyRead,
		summary: "The next firings of the campaigns with a schedule, and what became of the last"}, []resource.Firing{exampleFiring},
		func(ctx context.Context, d *operator.Session, in *listFirings) ([]resource.Firing, error) {
			files, err := s.process.Folder()
			if err != nil {
				return nil, err
			}
			return d.Schedule(ctx, files, in.Campaign, in.Next, in.Last)
		})
}

func (s *Server) dropRoutes() {
	addPages(s, route{method: http.MethodGet, path: "/api/v1/drops", id: "drops", scope: campaign.KeyRead,
		summary: "The files of watched folders: those that wait, and those that were taken, by pages"}, []resource.Drop{exampleDrop},
		func(ctx context.Context, d *operator.Session, in *struct {
			After int64 `query:"after" minimum:"0" doc:"meta.next of the page before"`
			Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		}) ([]resource.Drop, string, error) {
			all, next, err := d.Drops(ctx, in.After, in.Limit)
			if next == 0 {
				return all, "", err
			}
			return all, strconv.FormatInt(next, 10), err
		})
	add(s, route{method: http.MethodGet, path: "/api/v1/drops/{file}", id: "drop", summary: "One file that was taken", scope: campaign.KeyRead,
		errors: []int{404}}, exampleDrop,
		func(ctx context.Context, d *operator.Session, in *struct {
			File int64 `path:"file" minimum:"1" example:"7" doc:"the number of the file"`
		}) (resource.Drop, error) {
			return d.Drop(ctx, in.File)
		})
}
