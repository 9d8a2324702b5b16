package service

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// paged answers each query with a page, and notes the queries. A query that it does not know gets
// the first page, as from a service that ignores parameters.
type paged struct {
	pages   map[string]string
	header  map[string]string // the Link header, by query
	queries []string
}

func (p *paged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := strings.TrimPrefix(r.URL.RequestURI(), "/api/v1/connections")
	p.queries = append(p.queries, query)
	body, ok := p.pages[query]
	if !ok {
		body = p.pages[""]
	}
	if link := p.header[query]; link != "" {
		w.Header().Set("Link", link)
	}
	io.WriteString(w, strings.ReplaceAll(body, "HOST", r.Host))
}

func TestListingsFollowEveryKindOfCursor(t *testing.T) {
	for name, c := range map[string]struct {
		pages map[string]string
		link  map[string]string
	}{
		"cursor": {pages: map[string]string{
			"": `{"data":[{"id":"a"}],"cursor":"x/+=1"}`, "?cursor=x%2F%2B%3D1": `{"data":[{"id":"b"}],"cursor":null}`}},
		"a cursor like a path": {pages: map[string]string{
			"": `{"data":[{"id":"a"}],"cursor":"/9j4"}`, "?cursor=%2F9j4": `{"data":[{"id":"b"}],"cursor":""}`}},
		"nextCursor of meta": {pages: map[string]string{
			"": `{"data":[{"id":"a"}],"meta":{"next_cursor":"2"}}`, "?cursor=2": `{"data":[{"id":"b"}],"meta":{}}`}},
		"page token": {pages: map[string]string{
			"": `{"data":[{"id":"a"}],"nextPageToken":"t"}`, "?pageToken=t": `{"data":[{"id":"b"}]}`}},
		"page number": {pages: map[string]string{
			"": `{"data":[{"id":"a"}],"pagination":{"nextPage":2}}`, "?page=2": `{"data":[{"id":"b"}],"pagination":{"nextPage":null}}`}},
		"after, as the platform": {pages: map[string]string{
			"":         `{"data":[{"id":"a"}],"paging":{"cursors":{"before":"w","after":"y"},"next":"https://graph.example/v1/x?after=y"}}`,
			"?after=y": `{"data":[{"id":"b"}],"paging":{"cursors":{"before":"y"}}}`}},
		"after without next": {pages: map[string]string{
			"":         `{"data":[{"id":"a"}],"paging":{"cursors":{"after":"y"}}}`,
			"?after=y": `{"data":[{"id":"b"}],"paging":{"cursors":{"after":"z"}}}`, "?after=z": `{"data":[],"paging":{}}`}},
		"address": {pages: map[string]string{
			"":               `{"data":[{"id":"a"}],"next":"http://HOST/api/v1/connections?page=2&size=1"}`,
			"?page=2&size=1": `{"data":[{"id":"b"}],"next":null}`}},
		"address behind a proxy": {pages: map[string]string{
			"":     `{"data":[{"id":"a"}],"links":{"next":{"href":"https://HOST/api/v1/connections?p=2"}}}`,
			"?p=2": `{"data":[{"id":"b"}],"links":{}}`}},
		"relative address": {pages: map[string]string{
			"": `{"data":[{"id":"a"}],"next":"?p=2"}`, "?p=2": `{"data":[{"id":"b"}],"next":false}`}},
		"has more": {pages: map[string]string{
			"": `{"data":[{"id":"a"}],"hasMore":true,"cursor":"2"}`, "?cursor=2": `{"data":[{"id":"b"}],"hasMore":false,"cursor":"3"}`}},
		"Link header": {pages: map[string]string{"": `[{"id":"a"}]`, "?p=2": `[{"id":"b"}]`},
			link: map[string]string{"": `</api/v1/connections?p=1>; rel="prev", </api/v1/connections?p=2>; rel="next"`}},
	} {
		p := &paged{pages: c.pages, header: c.link}
		server := httptest.NewServer(p)
		got, err := testClient(t, server.URL, Options{}).Connections(t.Context())
		server.Close()
		var ids []string
		for _, one := range got {
			ids = append(ids, one.ID)
		}
		if err != nil || !slices.Equal(ids, []string{"a", "b"}) || len(p.queries) != len(c.pages) {
			t.Errorf("%s: got %q, %v after %q; want a and b after the %d pages", name, ids, err, p.queries, len(c.pages))
		}
	}
}

// The parameters of the request stay, and the key does not leave the host.
func TestThePagesOfTemplatesKeepTheirConnection(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		if r.FormValue("cursor") == "" {
			io.WriteString(w, `{"data":[{"name":"a"}],"cursor":"2"}`)
			return
		}
		io.WriteString(w, `{"data":[{"name":"b"}]}`)
	}))
	defer server.Close()
	got, err := testClient(t, server.URL, Options{}).Templates(t.Context(), "conn 1")
	if want := []string{"connectionId=conn+1", "connectionId=conn+1&cursor=2"}; err != nil || len(got) != 2 || !slices.Equal(asked, want) {
		t.Errorf("got %v, %v after %q, want 2 after %q", got, err, asked, want)
	}
}

func TestAListingThatNeverEndsIsAnError(t *testing.T) {
	serve := func(page func(n int) string) (string, int) {
		n := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			io.WriteString(w, page(n))
		}))
		defer server.Close()
		_, err := testClient(t, server.URL, Options{}).Connections(t.Context())
		return fmt.Sprint(err), n
	}
	for name, c := range map[string]struct {
		page     func(n int) string
		want     string
		requests int
	}{
		"the same cursor":  {func(int) string { return `{"data":[{"id":"a"}],"cursor":"x"}` }, "the cursor of the next page repeats", 2},
		"two in turn":      {func(n int) string { return fmt.Sprintf(`{"data":[{"id":"a"}],"cursor":"%d"}`, n%2) }, "repeats", 3},
		"ever new cursors": {func(n int) string { return fmt.Sprintf(`{"data":[{"id":"a"}],"cursor":"%d"}`, n) }, "more than 1000 pages", 1000},
		"another host": {func(int) string { return `{"data":[{"id":"a"}],"next":"https://elsewhere.example/api?x=1"}` },
			"at another host, which is not followed", 1},
		"an endless cursor": {func(int) string { return `{"data":[{"id":"a"}],"cursor":"` + strings.Repeat("x", 5000) + `"}` },
			"longer than 4096 bytes", 1},
		"after, ignored": {func(int) string { return `{"data":[{"id":"a"}],"paging":{"cursors":{"after":"x"}}}` }, "<nil>", 2},
		"empty pages":    {func(n int) string { return fmt.Sprintf(`{"data":[],"cursor":"%d"}`, n) }, "<nil>", 1},
	} {
		if got, n := serve(c.page); !strings.Contains(got, c.want) || n != c.requests {
			t.Errorf("%s: %s after %d requests, want %q after %d", name, got, n, c.want, c.requests)
		}
	}
	server := httptest.NewServer(&paged{pages: map[string]string{"": `{"data":[{"id":"a"}],"paging":{"cursors":{"after":"x"}}}`}})
	defer server.Close()
	if got, err := testClient(t, server.URL, Options{}).Connections(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("a service that ignores after: %v, %v, want the one connection once", got, err)
	}
}
