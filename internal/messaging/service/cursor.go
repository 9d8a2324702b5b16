package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"campaignd/internal/operations"
	"campaignd/internal/rawjson"
)

// The limits of a listing with several pages.
const (
	maxPages    = 1000
	listTimeout = 2 * time.Minute // of all pages together
	maxCursor   = 4 << 10         // bytes
)

// list reads the objects of a listing, page after page. The fields are in the query. The list is
// under data, or it is the answer itself. A page may name the next one by a cursor or by an address
// (docs/service.md#pages-of-listings).
func (c *Client) list(ctx context.Context, name, id string, f fields) ([]rawjson.Value, error) {
	o, err := c.target(name, id)
	if err != nil {
		return nil, err
	}
	items, err := c.pages(ctx, o, f.query())
	return items, c.judged(o, err)
}

func (c *Client) pages(ctx context.Context, o operations.Operation, query string) ([]rawjson.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	fault := func(format string, args ...any) error { return badAnswer(o, fmt.Sprintf(format, args...)) }
	var items []rawjson.Value
	var before rawjson.Value
	at := url.URL{Path: o.Path, RawQuery: query}
	seen := map[string]bool{}
	for range maxPages {
		seen[at.String()] = true
		page, header, err := c.ask(ctx, c.timeout, c.request(ctx, o.Method, at.Path, at.RawQuery))
		if err != nil {
			return nil, err
		}
		list := listOf(page)
		if !list.IsArray() {
			return nil, fault("the answer holds no list under data")
		}
		n := len(items)
		for m := list.Members(); m.Next(); {
			if m.Val.IsObject() {
				items = append(items, m.Val)
			}
		}
		next := nextPageOf(page, header)
		if next.none() || len(items) == n {
			return items, nil
		}
		if next.weak && bytes.Equal(page, before) { // the service ignores the parameter: this is all
			return items[:n], nil
		}
		if at, err = c.follow(at, next, query); err != nil {
			return nil, fault("%v", err)
		}
		if seen[at.String()] {
			return nil, fault("the cursor of the next page repeats")
		}
		before = page
	}
	return nil, fault("more than %d pages", maxPages)
}

// listOf finds the list in an answer.
func listOf(page rawjson.Value) rawjson.Value {
	if data := page.Get("data"); data != nil {
		return data
	}
	return page
}

// nextPage is what a page says of the next one: an address, or a cursor and its parameter.
type nextPage struct {
	address           string
	parameter, cursor string
	// weak means that the platform names its last page too (paging.cursors.after without paging.next).
	weak bool
}

func (n nextPage) none() bool { return n.address == "" && n.cursor == "" }

// The names under which services tell the next page, with the parameter that takes a cursor. A
// value is an address if it has a scheme, or a query after a path or after nothing. A cursor may
// begin with /. Case and underscores do not matter.
var cursorNames = []struct{ name, parameter string }{
	{"next", "cursor"}, {"next.href", "cursor"}, {"nextUrl", "cursor"}, {"nextLink", "cursor"}, {"nextPageUrl", "cursor"},
	{"nextCursor", "cursor"}, {"nextPageToken", "pageToken"}, {"nextToken", "nextToken"}, {"nextPage", "page"},
	{"cursors.after", "after"}, {"endCursor", "after"}, {"cursor", "cursor"},
}

// cursorPaths are the objects of an answer that may have these names.
var cursorPaths = []string{"", "paging", "pagination", "meta", "meta.pagination", "links", "pageInfo"}

// nextPageOf reads what the answer says of the next page.
func nextPageOf(page rawjson.Value, h http.Header) nextPage {
	for _, path := range cursorPaths {
		in := page
		if path != "" {
			in = at(page, path)
		}
		if !in.IsObject() {
			continue
		}
		for _, more := range []string{"hasMore", "hasNext", "hasNextPage"} {
			if at(in, more).Text() == "false" {
				return nextPage{}
			}
		}
		for _, c := range cursorNames {
			n := nextOf(at(in, c.name), c.parameter)
			if n.none() {
				continue
			}
			if after := at(in, "cursors.after").Text(); strings.Contains(n.address, "://") && after != "" {
				n.parameter, n.cursor = "after", after // the address may be the platform's own
			}
			n.weak = c.name == "cursors.after"
			return n
		}
	}
	for _, link := range h.Values("Link") { // RFC 8288
		for part := range strings.SplitSeq(link, ",") {
			address, about, _ := strings.Cut(part, ";")
			if rel := strings.ReplaceAll(about, " ", ""); strings.Contains(rel, `rel="next"`) || strings.Contains(rel, "rel=next") {
				return nextPage{address: strings.Trim(address, " <>")}
			}
		}
	}
	return nextPage{}
}

func nextOf(v rawjson.Value, parameter string) nextPage {
	switch text := v.Text(); {
	case text == "false" || text == "true":
		return nextPage{}
	case strings.Contains(text, "://") || strings.HasPrefix(text, "?") || strings.HasPrefix(text, "/") && strings.Contains(text, "?"):
		return nextPage{address: text}
	default:
		return nextPage{parameter: parameter, cursor: text}
	}
}

// follow returns the path and the query of the next page. The key goes to the service's own host
// only: an address of another host is not followed.
func (c *Client) follow(at url.URL, next nextPage, query string) (url.URL, error) {
	if len(next.address) > maxCursor || len(next.cursor) > maxCursor {
		return at, fmt.Errorf("the cursor of the next page is longer than %d bytes", maxCursor)
	}
	if next.address != "" {
		from := c.base
		from.Path, from.RawQuery = at.Path, at.RawQuery
		to, err := from.Parse(next.address)
		if err == nil && to.Host == c.base.Host && to.User == nil { // its scheme may be that behind a proxy
			return url.URL{Path: to.Path, RawQuery: to.RawQuery}, nil
		}
		if next.cursor == "" {
			return at, errors.New("the next page has an address at another host, which is not followed")
		}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return at, err
	}
	values.Set(next.parameter, next.cursor)
	return url.URL{Path: at.Path, RawQuery: values.Encode()}, nil
}
