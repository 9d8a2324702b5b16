package commerce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"campaignd/internal/secret"
)

// secretWords occur in answers of the tests below, and nowhere else.
var secretWords = []string{"CANARY", "canary.example", "237650000001", "Rue Foch", "/srv/app"}

// quiet fails if a text has a word that only an answer, a key or a person has.
func quiet(t *testing.T, what, got string) {
	t.Helper()
	for _, word := range append(secretWords, aKey, token) {
		if strings.Contains(got, word) {
			t.Errorf("%s: got %q in %q, want none of it", what, word, got)
		}
	}
}

func TestNoWordOfAnAnswerIsInAnError(t *testing.T) {
	page := func(next string) string {
		return `{"data":[{"id":"a"}],"links":{"next":"` + next + `"},"meta":{"total":9}}`
	}
	for _, test := range []struct {
		status int
		body   string
		header []string
		want   Code
	}{
		{404, `{"exception":"CANARY","file":"/srv/app/x.php","line":1,"trace":[{"file":"/srv/app/y.php"}]}`, nil, CodeNotFound},
		{401, `{"code":401,"message":"Invalid token ` + aKey + ` CANARY"}`, nil, CodeKeyInvalid},
		{401, `{"code":401,"message":"Invalid API key","exception":"CANARY"}`, nil, CodeKeyInvalid},
		{403, `{"code":403,"message":"` + token + `"}`, nil, CodeDenied},
		{422, `{"errors":{"phone":["+237650000001 is taken"],"CANARY":["x"]},"message":"+237650000001, 4 Rue Foch"}`, nil, CodeInvalid},
		{500, `{"code":500,"data":null,"message":"CANARY","status":"error"}`, nil, CodeNothingDue},
		{500, `<html>CANARY</html>`, nil, CodeServer},
		{302, ``, []string{"Location", "https://canary.example/CANARY"}, CodeRedirect},
		{307, ``, []string{"Location", "https://canary.example/CANARY"}, CodeRedirect},
		{200, `CANARY`, nil, CodeBadAnswer},
		{200, page("https://canary.example/2023-11/admin/customers?page[number]=2"), nil, CodeForeignPage},
		{200, page("//canary.example/2023-11/admin/customers?page[number]=2"), nil, CodeForeignPage},
		{200, page("https://u:CANARY@shop.example/2023-11/admin/customers?page[number]=2"), nil, CodeForeignPage},
		{200, page("http://shop.example/2023-11/admin/customers?page[number]=2"), nil, CodeForeignPage},
		{200, page("https://shop.example:444/2023-11/admin/customers?page[number]=2"), nil, CodeForeignPage},
		{200, page("/2023-11/admin/CANARY?page[number]=2"), nil, CodeForeignPage},
		{200, page("/2023-11/admin/customers/../CANARY"), nil, CodeForeignPage},
		{200, page("?" + strings.Repeat("x", maxAddress)), nil, CodeForeignPage},
		{200, page("%zz"), nil, CodeForeignPage},
	} {
		var log bytes.Buffer
		requests := 0
		c := through(t, func(r *http.Request) (*http.Response, error) {
			requests++
			if r.URL.Host != "shop.example" || r.URL.Path != "/2023-11/admin/customers" {
				t.Errorf("got a request to %s, want none elsewhere", r.URL)
			}
			return response(test.status, test.body, test.header...), nil
		}, Options{Rate: maxRate, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		var last error
		for _, err := range c.Customers(t.Context(), "+237650000001") {
			last = err
		}
		e := fault(t, last)
		if e.Code != test.want || requests != 1 {
			t.Errorf("%d %s: got %v after %d requests, want %s after one", test.status, test.body, e, requests, test.want)
		}
		written, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		quiet(t, "error", fmt.Sprintf("%v %+v %#v %s", last, last, *e, written))
		quiet(t, "log", log.String())
	}
}

// The fault of one record has its id, if that can be an id, and no other word of it.
func TestNoWordOfARecordIsInItsError(t *testing.T) {
	for _, record := range []string{`{"id":"a","phone":237650000001}`, `{"id":"a","created_at":"CANARY"}`,
		`{"id":"a","metadata":["CANARY"]}`, `{"id":"CANARY +237650000001","deleted_at":7}`, `"CANARY"`} {
		c := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"data":[` + record + `]}`)) }, Options{})
		var last error
		for _, err := range c.Customers(t.Context(), "") {
			last = err
		}
		e, ok := errors.AsType[*RecordError](last)
		if !ok || e.Route != "GET /2023-11/admin/customers" {
			t.Fatalf("%s: got %v, want the fault of a record of the list", record, last)
		}
		quiet(t, "error", fmt.Sprintf("%v %+v %#v", last, last, *e))
	}
}

// net/http quotes what it cannot read.
func TestNoWordThatIsNoHTTPIsInAnError(t *testing.T) {
	for _, said := range []string{"CANARY\r\n\r\n", "HTTP/1.1 200 OK\r\nCANARY\r\n\r\n", "HTTP/1.1 CANARY\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: CANARY\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nCANARY"} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, said)
				_ = conn.Close()
			}
		}()
		c, err := New(Options{BaseURL: "http://" + ln.Addr().String(), Company: acme, APIKey: secret.New(aKey)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.AutomaticDiscounts(t.Context(), Customer{ID: "a"})
		if e := fault(t, err); e.Code != CodeUnreachable {
			t.Errorf("%q: got %v, want unreachable", said, e)
		}
		quiet(t, "error", fmt.Sprintf("%v %+v", err, err))
		ln.Close()
		<-done
	}
}

func TestALongAnswerIsNotKept(t *testing.T) {
	c := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"id":"x","name":"`))
		w.Write(bytes.Repeat([]byte("a"), maxAnswer))
		w.Write([]byte(`"}`))
	}, Options{})
	if _, err := c.Company(t.Context()); fault(t, err).Code != CodeTooLong {
		t.Errorf("got %v, want answer_too_long", err)
	}
	c = serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"id":"x","name":"` + strings.Repeat("a", maxAnswer-100) + `"}`))
	}, Options{})
	if company, err := c.Company(t.Context()); err != nil || len(company.Name) != maxAnswer-100 {
		t.Errorf("got a name of %d letters, %v; want an answer of almost 8 MiB", len(company.Name), err)
	}
}

func TestAClientNeverShowsItsKey(t *testing.T) {
	for _, o := range []Options{{APIKey: secret.New(aKey)}, {AccessToken: secret.New(token)}} {
		o.BaseURL, o.Company = "https://shop.example", acme
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		quiet(t, "client", fmt.Sprintf("%v %+v %#v %v %+v %#v", c, c, c, o, o, o))
	}
}

func TestAnIDThatLeadsElsewhereIsNotAskedFor(t *testing.T) {
	c := through(t, func(r *http.Request) (*http.Response, error) {
		t.Errorf("got a request to %s, want none", r.URL)
		return response(200, `{}`), nil
	}, Options{})
	for _, id := range []string{"", "..", "a/b", "a?b", "a%2f", "a b", "ä", strings.Repeat("a", 65)} {
		_, link := c.PaymentLink(context.Background(), LinkRequest{Order: id})
		_, statistics := c.Statistics(context.Background(), id)
		if fault(t, link).Code != CodeNotFound || fault(t, statistics).Code != CodeNotFound {
			t.Errorf("%q: got %v and %v, want not_found", id, link, statistics)
		}
	}
}
