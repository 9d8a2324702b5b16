package commerce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// book is a list of customers that a server pages. Between two pages shift is called, which may
// insert and remove rows.
type book struct {
	mu    sync.Mutex
	ids   []string
	total int // 0: the number of ids
	pages int // that were read
	shift func(*book)
}

func (b *book) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pages++
	number, size := 1, 15
	if n, err := strconv.Atoi(r.URL.Query().Get("page[number]")); err == nil {
		number = n
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("page[size]")); err == nil {
		size = n
	}
	from := min((number-1)*size, len(b.ids))
	to := min(from+size, len(b.ids))
	rows := make([]map[string]any, 0, size)
	for _, id := range b.ids[from:to] {
		rows = append(rows, map[string]any{"id": id, "first_name": "Ama", "phone": "+237650000001"})
	}
	var next any
	if to < len(b.ids) {
		next = fmt.Sprintf("http://%s%s?page[size]=%d&page[number]=%d", r.Host, r.URL.Path, size, number+1)
	}
	total := b.total
	if total == 0 {
		total = len(b.ids)
	}
	json.NewEncoder(w).Encode(map[string]any{"data": rows, "links": map[string]any{"next": next}, "meta": map[string]any{"total": total}})
	if b.shift != nil {
		b.shift(b)
	}
}

func bookOf(n int) *book {
	b := &book{}
	for i := range n {
		b.ids = append(b.ids, fmt.Sprintf("01J%023d", i))
	}
	return b
}

// all reads the whole list and returns its ids.
func all(t *testing.T, c *Client) map[string]bool {
	t.Helper()
	got := map[string]bool{}
	for customer, err := range c.Customers(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		got[customer.ID] = true
	}
	return got
}

func TestAListIsReadWhole(t *testing.T) {
	for n, pages := range map[int]int{0: 1, 1: 1, 100: 1, 101: 2, 12_345: 124} {
		b := bookOf(n)
		c := serving(t, b.ServeHTTP, Options{})
		if got := all(t, c); len(got) != n || b.pages != pages {
			t.Errorf("got %d customers in %d pages, want %d in %d", len(got), b.pages, n, pages)
		}
	}
}

// A row that is inserted in front shifts the others to later pages: some come twice. A row that is
// removed shifts them to earlier pages: some would be missed.
func TestNoRowThatShiftsIsMissed(t *testing.T) {
	b := bookOf(2000)
	first := append([]string(nil), b.ids...)
	made := 0
	b.shift = func(b *book) {
		if made < 30 {
			made++
			b.ids = append([]string{fmt.Sprintf("01K%023d", made)}, b.ids...)
		}
		if b.pages%4 == 0 && b.pages < 20 {
			b.ids = append(b.ids[:1:1], b.ids[2:]...) // one of the new rows is removed
		}
	}
	c := serving(t, b.ServeHTTP, Options{})
	got := all(t, c)
	for _, id := range first {
		if !got[id] {
			t.Fatalf("got no %s, want every row that was there all the time", id)
		}
	}
	b = bookOf(1000)
	kept := append([]string(nil), b.ids[5:]...)
	b.shift = func(b *book) {
		if b.pages <= 5 {
			b.ids = b.ids[1:]
		}
	}
	if got := all(t, serving(t, b.ServeHTTP, Options{})); b.pages <= 10 {
		t.Errorf("got %d pages, want the list read again: it gave fewer rows than its total", b.pages)
	} else {
		for _, id := range kept {
			if !got[id] {
				t.Fatalf("got no %s, want every row that was there all the time", id)
			}
		}
	}
}

func TestAListThatStaysShortIsReadThreeTimes(t *testing.T) {
	var log bytes.Buffer
	b := bookOf(250)
	b.total = 251
	c := serving(t, b.ServeHTTP, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if got := all(t, c); len(got) != 250 || b.pages != 9 {
		t.Errorf("got %d customers in %d pages, want 250 in 9", len(got), b.pages)
	}
	if n := strings.Count(log.String(), "stays incomplete"); n != 1 {
		t.Errorf("got %d warnings, want one: %s", n, log.String())
	}
}

func TestAListEndsAtAnAddressSeen(t *testing.T) {
	n := 0
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		fmt.Fprintf(w, `{"data":[{"id":"a"}],"links":{"next":"?page[number]=%d"},"meta":{"total":1}}`, 1+n%3)
	}, Options{})
	if got := all(t, c); len(got) != 1 || n != 4 {
		t.Errorf("got %d customers in %d pages, want one in 4: the fifth address was seen", len(got), n)
	}
}

func TestAListHasAtMost20000Pages(t *testing.T) {
	var log bytes.Buffer
	n := 0
	c := through(t, func(*http.Request) (*http.Response, error) {
		n++
		return response(200, fmt.Sprintf(`{"data":[{"id":"c%d"}],"links":{"next":"?page[number]=%d"},"meta":{"total":9}}`, n, n+1)), nil
	}, Options{Rate: maxRate, Log: slog.New(slog.NewTextHandler(&log, nil))})
	c.pace.limiter.SetLimit(1e9)
	if got := all(t, c); len(got) != maxPages {
		t.Errorf("got %d customers, want one of each page", len(got))
	}
	if n != maxPages || !strings.Contains(log.String(), "too many pages") {
		t.Errorf("got %d pages and %q, want 20000 and a warning", n, log.String())
	}
}

// A page may have known records only, because rows shift; a list that gives no new one any more is
// over, also when each page has another address, and is not read again.
func TestAListThatRepeatsItselfEnds(t *testing.T) {
	for name, data := range map[string]string{"the same record": `{"id":"a"}`, "no record": ""} {
		var log bytes.Buffer
		n := 0
		c := through(t, func(*http.Request) (*http.Response, error) {
			n++
			page := data
			if n == 10 { // after nine pages that repeat the first one
				page = `{"id":"b"}`
			}
			return response(200, fmt.Sprintf(`{"data":[%s],"links":{"next":"?page[number]=%d"},"meta":{"total":900000}}`, page, n+1)), nil
		}, Options{Rate: maxRate, Log: slog.New(slog.NewTextHandler(&log, nil))})
		c.pace.limiter.SetLimit(1e9)
		got := all(t, c)
		if !got["b"] || n != 20 || strings.Count(log.String(), "repeats itself") != 1 {
			t.Errorf("%s: got %v in %d pages and %q, want b in 20 pages, and one warning", name, got, n, log.String())
		}
	}
}

func TestAReaderMayStopEarly(t *testing.T) {
	b := bookOf(1000)
	c := serving(t, b.ServeHTTP, Options{})
	n := 0
	for _, err := range c.Customers(t.Context(), "") {
		if n++; err != nil || n == 150 {
			break
		}
	}
	if n != 150 || b.pages != 2 {
		t.Errorf("got %d customers in %d pages, want 150 in 2", n, b.pages)
	}
}

func TestAPageThatFailsEndsTheListWithAnError(t *testing.T) {
	for _, body := range []string{`{}`, `{"data":null}`, `{"data":{}}`, `[]`, `7`, ``, `<html>`} {
		c := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(body)) }, Options{})
		var last error
		for _, err := range c.Customers(t.Context(), "") {
			last = err
		}
		if last == nil || fault(t, last).Code != CodeBadAnswer {
			t.Errorf("%s: got %v, want bad_answer", body, last)
		}
	}
}

// One record that is not in the documented form is named, and the others are read. A record is read
// each time that the list gives it, as it is then.
func TestAnOddRecordStopsNoOther(t *testing.T) {
	for _, c := range []struct{ odd, id string }{
		{`{"id":"odd","created_at":"2026-11-28 09:00:00"}`, "odd"},
		{`{"id":"odd","deleted_at":false}`, "odd"},
		{`{"id":"odd","tags":"vip"}`, "odd"},
		{`{"id":7}`, ""},
		{`{"id":""}`, ""},
		{`{"id":"Ama Mensah, +237650000001","tags":"vip"}`, ""},
		{`{}`, ""},
		{`[]`, ""},
		{`null`, ""},
	} {
		n := 0
		client := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			n++
			fmt.Fprintf(w, `{"data":[{"id":"a","first_name":"reading %d"},%s,{"id":"b"}],"meta":{"total":4}}`, n, c.odd)
		}, Options{})
		var good []string
		odd := 0
		for one, err := range client.Customers(t.Context(), "") {
			var fault *RecordError
			switch {
			case errors.As(err, &fault):
				if odd++; fault.ID != c.id || strings.Contains(fault.Error(), "Ama") {
					t.Errorf("%s: got the fault %q of %q, want the id %q", c.odd, fault, fault.ID, c.id)
				}
			case err != nil:
				t.Errorf("%s: got %v, want the other records", c.odd, err)
			default:
				good = append(good, one.ID+one.FirstName)
			}
		}
		if want := "areading 1 b areading 2 b areading 3 b"; strings.Join(good, " ") != want || odd != 3 {
			t.Errorf("%s: got %v and %d faults, want %s and 3", c.odd, good, odd, want)
		}
	}
}

// The platform writes an empty object as [].
func TestAnOrderWithoutAnAddressIsRead(t *testing.T) {
	client := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"data":[{"id":"a","billing":{"address":[]}}]}`))
	}, Options{})
	for o, err := range client.Orders(t.Context(), OrderQuery{}) {
		if err != nil || o.ID != "a" || o.Billing.Address == nil || o.Billing.Address.Phone != "" {
			t.Errorf("got %+v, %v; want the order, without a phone number", o, err)
		}
	}
}
