package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/client/resource"
)

// Campaigns lists the files of the campaigns folder.
func (c *Client) Campaigns(ctx context.Context) ([]resource.Campaign, error) {
	return one[[]resource.Campaign](ctx, c, call{method: http.MethodGet, path: "/campaigns"})
}

// ofCampaign is a call about one campaign of the folder, by its name.
func ofCampaign(name, rest string) call {
	return call{method: http.MethodGet, path: "/campaigns/" + url.PathEscape(name) + rest, long: rest != ""}
}

// Campaign returns one campaign of the folder, by its name.
func (c *Client) Campaign(ctx context.Context, name string) (resource.Campaign, error) {
	return one[resource.Campaign](ctx, c, ofCampaign(name, ""))
}

// CheckCampaign returns what a launch of a campaign of the folder would do with its list.
func (c *Client) CheckCampaign(ctx context.Context, name string) (*launch.Preflight, error) {
	return one[*launch.Preflight](ctx, c, ofCampaign(name, "/check"))
}

// ForecastCampaign returns when a campaign of the folder would end if it were launched now.
func (c *Client) ForecastCampaign(ctx context.Context, name string) (plan.Forecast, error) {
	return one[plan.Forecast](ctx, c, ofCampaign(name, "/forecast"))
}

// Schedule lists at most next future firings and at most last past firings of each campaign that
// has a schedule. name selects one campaign; "" selects all.
func (c *Client) Schedule(ctx context.Context, name string, next, last int) ([]resource.Firing, error) {
	q := url.Values{"next": {strconv.Itoa(next)}, "last": {strconv.Itoa(last)}}
	set(q, "campaign", name)
	return one[[]resource.Firing](ctx, c, call{method: http.MethodGet, path: "/schedules", query: q})
}

// Drops lists the files of watched folders: first those that wait, then at most limit (1 to 1000)
// files that were taken, the newest first. after is the next of the page before, 0 for the first
// page. next is 0 on the last page.
func (c *Client) Drops(ctx context.Context, after int64, limit int) (all []resource.Drop, next int64, err error) {
	return pageOf[resource.Drop](ctx, c, call{method: http.MethodGet, path: "/drops"}, after, limit)
}

// Drop returns one file that was taken, by its number.
func (c *Client) Drop(ctx context.Context, file int64) (resource.Drop, error) {
	return one[resource.Drop](ctx, c, call{method: http.MethodGet, path: "/drops/" + strconv.FormatInt(file, 10)})
}
