package commerce

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
)

// The limits of a list (docs/commerce.md#lists).
const (
	maxPages   = 20_000
	maxRepeats = 10      // pages in a row without a new record: a list that repeats itself
	maxReads   = 3       // of a list whose rows shift: the first, and two more
	maxAddress = 4 << 10 // bytes of links.next
)

// page is the pagination envelope (docs/commerce.md#lists).
type page struct {
	Data  []json.RawMessage `json:"data"`
	Links struct {
		Next *string `json:"next"`
	} `json:"links"`
	Meta struct {
		Total *int64 `json:"total"`
	} `json:"meta"`
}

// seen is a set of texts, 16 bytes for each: a million ids take 40 MB.
type seen map[digest]struct{}

// digest stands for a text.
type digest [16]byte

func digestOf(text string) digest {
	sum := sha256.Sum256([]byte(text))
	return digest(sum[:16])
}

// add reports whether the text is new.
func (s seen) add(text digest) bool {
	_, known := s[text]
	s[text] = struct{}{}
	return !known
}

// each returns the records of a list, page after page. While the caller reads, rows may shift from
// one page to another, and a list that gave fewer ids than its total is read again. A record may
// therefore come more than once, as it was each time: the caller decides which one counts. A pair
// with a *RecordError stands for one record that cannot be read, and the list continues after it.
// Any other error is in the last pair, and the list is then incomplete.
func each[T keyed](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ids := seen{}
		query.Set(c.o.Assumed.PageSizeParameter, fmt.Sprint(c.o.Assumed.PageSize))
		for range maxReads {
			now := seen{} // in this reading
			total, ended, err := read(ctx, c, path, query.Encode(), func(record T, err *RecordError) (isNew, more bool) {
				if err != nil {
					ids.add(err.key)
					return now.add(err.key), yield(record, err)
				}
				id := digestOf(record.key())
				ids.add(id)
				return now.add(id), yield(record, nil)
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

// RecordError says that one record of a list is not in the documented form. It has no word of the
// record but its id, because a record may hold a person's phone or address.
type RecordError struct {
	Route string // as in Error
	ID    string // "" if the record has none that is an id
	Field string // the member that is wrong, by our own name; "" if no single one is

	key digest // of its id, or of the whole record
}

// Error returns one line.
func (e *RecordError) Error() string {
	what := "a record without an id"
	if e.ID != "" {
		what = "the record " + e.ID
	}
	at := ""
	if e.Field != "" {
		at = " at " + e.Field
	}
	return fmt.Sprintf("%s of the commerce platform is not in the documented form%s (%s)", what, at, e.Route)
}

// record reads one record of a list.
func record[T keyed](q call, text json.RawMessage) (one T, err *RecordError) {
	fault := json.Unmarshal(text, &one)
	if fault == nil && one.key() != "" {
		return one, nil
	}
	err = &RecordError{Route: q.method + " " + q.route, key: digestOf(string(text))}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](fault); ok {
		err.Field = kind.Field // the names of our own struct tags
	}
	var named struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(text, &named) == nil {
		if id, ok := named.ID.(string); ok && id != "" && CheckID(id) == nil {
			err.ID, err.key = id, digestOf(id)
		}
	}
	var none T
	return none, err
}

// read reads a list once and returns the largest total of its pages. ended means that there is no
// more to read, or that take wants no more. take also returns whether the record is new in this
// reading. Rows that shift can fill a page with known records, but not page after page.
func read[T keyed](ctx context.Context, c *Client, path, query string, take func(T, *RecordError) (isNew, more bool)) (
	total int64, ended bool, err error) {
	q := call{method: http.MethodGet, route: path, path: path, scope: admin, repeat: true}
	addresses := seen{}
	addresses.add(digestOf(query))
	repeats := 0
	for range maxPages {
		var p page
		q.query = query
		if err := c.do(ctx, q, &p); err != nil {
			return 0, true, err
		}
		if p.Data == nil {
			return 0, true, q.fault(CodeBadAnswer)
		}
		repeats++
		for _, text := range p.Data {
			isNew, more := take(record[T](q, text))
			if !more {
				return 0, true, nil
			}
			if isNew {
				repeats = 0
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
		if !addresses.add(digestOf(query)) {
			return total, false, nil
		}
		if repeats == maxRepeats {
			c.o.Log.Warn("a list of the commerce platform repeats itself without an end; it is read up to here", "path", path,
				"pages_without_a_new_record", repeats, "total", total)
			return total, true, nil
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
