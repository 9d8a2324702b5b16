package commerce

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"net/http"
	"net/url"
)

// The limits of a list (docs/commerce.md#lists).
const (
	maxPages   = 20_000
	maxReads   = 3       // of a list whose rows shift: the first, and two more
	maxAddress = 4 << 10 // bytes of links.next
)

// page is the pagination envelope (docs/commerce.md#lists).
type page[T any] struct {
	Data  []T `json:"data"`
	Links struct {
		Next *string `json:"next"`
	} `json:"links"`
	Meta struct {
		Total *int64 `json:"total"`
	} `json:"meta"`
}

// seen is a set of texts, 16 bytes for each: a million ids take 40 MB.
type seen map[[16]byte]struct{}

// add reports whether s is new.
func (s seen) add(text string) bool {
	sum := sha256.Sum256([]byte(text))
	key := [16]byte(sum[:16])
	if _, ok := s[key]; ok {
		return false
	}
	s[key] = struct{}{}
	return true
}

// each returns the records of a list, page after page. While the caller reads, rows may shift from
// one page to another: a repeated id is dropped, and a list that gave fewer ids than its total is
// read again. The last pair has an error if a page could not be read; the list is then incomplete.
func each[T keyed](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ids := seen{}
		query.Set(c.o.Assumed.PageSizeParameter, fmt.Sprint(c.o.Assumed.PageSize))
		for range maxReads {
			total, ended, err := read(ctx, c, path, query.Encode(), func(record T) bool {
				return !ids.add(record.key()) || yield(record, nil)
			})
			switch {
			case err != nil:
				var none T
				yield(none, err)
				return
			case ended || int64(len(ids)) >= total:
				return
			}
		}
		c.o.Log.Warn("a list of the commerce platform stays incomplete: it gives fewer records than its total, read three times",
			"path", path, "records", len(ids))
	}
}

// keyed is a record with an id.
type keyed interface{ key() string }

// read reads a list once and returns the largest total of its pages. ended means that there is no
// more to read, or that take wants no more.
func read[T keyed](ctx context.Context, c *Client, path, query string, take func(T) bool) (total int64, ended bool, err error) {
	q := call{method: http.MethodGet, route: path, path: path, scope: admin, repeat: true}
	addresses := seen{}
	addresses.add(query)
	for range maxPages {
		var p page[T]
		q.query = query
		if err := c.do(ctx, q, &p); err != nil {
			return 0, true, err
		}
		if p.Data == nil {
			return 0, true, q.fault(CodeBadAnswer)
		}
		for _, record := range p.Data {
			if record.key() == "" {
				return 0, true, q.fault(CodeBadAnswer)
			}
			if !take(record) {
				return 0, true, nil
			}
		}
		if p.Meta.Total != nil {
			total = max(total, *p.Meta.Total) // rows that are removed shift others to pages that were read
		}
		if p.Links.Next == nil || *p.Links.Next == "" {
			return total, false, nil
		}
		if query, err = c.next(q, *p.Links.Next); err != nil {
			return 0, true, err
		}
		if !addresses.add(query) {
			return total, false, nil
		}
	}
	c.o.Log.Warn("a list of the commerce platform has too many pages; those after the limit are not read", "path", path, "pages", maxPages)
	return total, true, nil
}

// next returns the query of the next page. The key goes to the same origin and path only
// (docs/commerce.md#lists).
func (c *Client) next(q call, address string) (query string, err error) {
	from := *c.base
	from.Path = q.path
	to, err := from.Parse(address)
	if err != nil || len(address) > maxAddress || to.Scheme != from.Scheme || to.Host != from.Host || to.User != nil || to.Path != q.path {
		return "", q.fault(CodeForeignPage)
	}
	return to.RawQuery, nil
}
