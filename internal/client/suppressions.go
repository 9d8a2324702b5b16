package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"campaignd/campaign"
	"campaignd/campaign/why"
	"campaignd/internal/client/resource"
)

// Suppressions lists at most limit (1 to 1000) suppressed numbers, sorted by number. after is the
// next of the page before, "" for the first page. next is "" on the last page. to selects one
// number; "" selects all.
func (c *Client) Suppressions(ctx context.Context, to, after string, limit int) (list []resource.Suppression, next string, err error) {
	q := url.Values{}
	set(q, "to", to)
	set(q, "after", after)
	setInt(q, "limit", int64(limit))
	return fetch[[]resource.Suppression](ctx, c, call{method: http.MethodGet, path: "/suppressions", query: q})
}

// ShowSuppressions returns the entries of one number, with the proof of each.
func (c *Client) ShowSuppressions(ctx context.Context, number string) ([]why.ShownSuppression, error) {
	return one[[]why.ShownSuppression](ctx, c, call{method: http.MethodGet, path: "/suppressions/" + url.PathEscape(number)})
}

// Person returns a page of the rows of one number in all runs, the newest runs first. The number
// is in international form with +. after is the next of the page before, 0 for the first page. A
// page may have more rows than limit: the rows of a run are not divided. next is 0 on the last
// page.
func (c *Client) Person(ctx context.Context, number string, after int64, limit int) (page []resource.PersonMessage, next int64, err error) {
	return pageOf[resource.PersonMessage](ctx, c, call{method: http.MethodGet, path: "/people/" + url.PathEscape(number)}, after, limit)
}

// ExportPerson returns everything that the ledger has about one number in international form with
// +. A key of one company gets what belongs to its runs.
func (c *Client) ExportPerson(ctx context.Context, number string) (resource.PersonExport, error) {
	return one[resource.PersonExport](ctx, c, call{method: http.MethodGet, path: "/people/" + url.PathEscape(number) + "/export"})
}

type numbersBody struct {
	Numbers []string       `json:"numbers"`
	Scope   campaign.Scope `json:"scope,omitempty"`
}

// AddSuppressions suppresses at most 1000 numbers in international form with +.
func (c *Client) AddSuppressions(ctx context.Context, numbers []string, scope campaign.Scope) (resource.Suppressed, error) {
	return one[resource.Suppressed](ctx, c, call{method: http.MethodPost, path: "/suppressions", body: numbersBody{numbers, scope}})
}

// RemoveSuppressions removes at most 1000 numbers from one scope, or from every scope if scope is
// "".
func (c *Client) RemoveSuppressions(ctx context.Context, numbers []string, scope campaign.Scope) (resource.Suppressed, error) {
	return one[resource.Suppressed](ctx, c, call{method: http.MethodPost, path: "/suppressions/remove", body: numbersBody{numbers, scope}})
}

// ImportSuppressions suppresses the numbers of a CSV file of any size, which it reads to its end. A
// second import of the same file changes nothing.
func (c *Client) ImportSuppressions(ctx context.Context, file io.Reader, i resource.SuppressionImport) (resource.Imported, error) {
	q := url.Values{}
	set(q, "file", i.File)
	set(q, "scope", string(i.Scope))
	set(q, "source", i.Source)
	setTime(q, "date", i.At)
	set(q, "default_region", i.DefaultRegion)
	return one[resource.Imported](ctx, c, call{method: http.MethodPost, path: "/suppressions/import", query: q,
		file: file, fileType: "text/csv"})
}

// ExportSuppressions writes the whole list as CSV. After an error, w has only a part of the file.
func (c *Client) ExportSuppressions(ctx context.Context, w io.Writer) error {
	return c.file(ctx, call{method: http.MethodGet, path: "/suppressions/export"}, w)
}
