package sandbox

import (
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"campaignd/internal/operations"
)

var sizedCalls = flag.Int("calls", 1000, "calls of one kind of TestTenThousandCallsTakeLessThan64MB; make sim takes 10,000")

// heapInUse is the size of the heap after a collection.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// askNth asks an operation for the nth time, with a valid request. id is a record of its area.
func askNth(t *testing.T, s *Sandbox, o operations.Operation, id string, n int) (status int) {
	t.Helper()
	path, body, contentType := o.At(id), requests[o.Name], "application/json"
	create := creations[areaOf(o.Path)]
	today := time.Now().UTC().Format(time.DateOnly)
	switch {
	case o.Name == "media":
		body = multipartOf([2]string{`name="connectionId"`, "conn_1"}, [2]string{`name="file"; filename="f.png"`, png})
		contentType = "multipart/form-data; boundary=b"
	case o.Method == http.MethodGet:
		path += "?connectionId=conn_1&start=" + today + "&end=" + today
	case o.Method == http.MethodPost && strings.Count(o.Path, "/") == 3 && create != "":
		body = fmt.Sprintf(create+"%[3]s", "conn_1", n, "")
	}
	return call(t, s, o.Method, path, "partner", body, "Content-Type", contentType).StatusCode
}

// 10,000 calls of one kind leave less than 64 MB, also beyond the bounds of the records. Fewer
// calls leave their part of that.
func TestTenThousandCallsTakeLessThan64MB(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: this takes a few seconds")
	}
	c := client{"co_1", "partner", "conn_1"}
	for _, o := range offered(t) {
		if o.Name == "messages" {
			continue
		}
		t.Run(o.Name, func(t *testing.T) {
			s := twoClients(t)
			id, calls := "", *sizedCalls
			if !o.Writes() { // it keeps nothing, and shows that sooner
				calls = min(calls, 1000)
			}
			most := int64(calls) * (64 << 20) / 10_000
			before := heapInUse()
			for n := range calls {
				if o.Scope == operations.Record && (id == "" || o.Method == http.MethodDelete) {
					id = c.record(t, s, areaOf(o.Path), n)
				}
				if status := askNth(t, s, o, id, n); !reached(status) || n == 0 && status >= 400 && o.Name != "template_edit" {
					t.Fatalf("call %d: got %d, want an answer that the record gives", n+1, status)
				}
			}
			if grown := heapInUse() - before; grown > most {
				t.Errorf("got %d KB more on the heap after %d calls, want at most %d", grown>>10, calls, most>>10)
			}
			runtime.KeepAlive(s)
		})
	}
}

// The figures of docs/service.md#assumed-operations that testdata/wire does not reach.
func TestAVerifiedClientHas6000Templates(t *testing.T) {
	s := twoClients(t, func(o *Options) {
		o.Templates = []Template{{Name: "one", Language: "en_US", Components: []Component{{Type: "BODY", Text: "News."}}}}
	})
	c := &scene{s: s, key: "partner"}
	for n := range 5999 {
		c.want(t, "POST", "/templates", creation(fmt.Sprint("t", n), fineBody), 200, "PENDING")
	}
	if status, what, code, _ := c.managed(t, "POST", "/templates", creation("more", fineBody)); status != 400 || code != 2388019 {
		t.Errorf("the 6,001st template: got %d %s %d, want invalid_template 2388019", status, what, code)
	}
}

func TestTheLast10000DeliveriesAreKnown(t *testing.T) {
	s := twoClients(t)
	c := &scene{s: s, key: "partner"}
	c.want(t, "POST", "/webhooks", `{"url":"https://hooks.example/"}`, 200, "")
	e := s.areas.Endpoints()[0]
	for n := range 10_002 {
		s.areas.Deliveries.End(s.areas.Deliveries.Begin(nil, e, fmt.Sprint("evt_", n), "template.status", time.Now()), "delivered", 200)
	}
	rows := told[[]deliveryRow](t, c, "GET", "/webhooks/"+e.ID+"/deliveries", "")
	if len(rows) != 10_000 || rows[0].EventID != "evt_10001" || rows[9_999].EventID != "evt_2" {
		t.Errorf("got %d deliveries from %+v to %+v, want 10,000 from evt_10001 to evt_2", len(rows), rows[0], rows[len(rows)-1])
	}
}
