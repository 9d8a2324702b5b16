package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client"
	"campaignd/internal/client/resource"
)

func TestAFaultyAddressIsToldWithoutItsKey(t *testing.T) {
	for _, address := range []string{"", "campaignd.example:8081", "ftp://campaignd.example", "https://",
		"https://u:geheim@h", "https://h?key=geheim"} {
		if _, err := client.New(address, "cpd_1", client.Options{}); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: got %v, want a fault without what may be a key", address, err)
		}
	}
	if _, err := client.New("https://h", "", client.Options{}); err == nil {
		t.Error("no key: got nil, want a fault")
	}
}

func TestTheKeyDoesNotFollowARedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("got a request with %q at another server, want none", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	c, err := client.New(server.URL, "cpd_1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Runs(t.Context(), campaign.RunFilter{}); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("got %v, want that 307 is no answer of campaignd", err)
	}
}

// The server cuts the connection when a file cannot be written to its end.
func TestAFileThatEndsEarlyIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "row,to\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	c, err := client.New(server.URL, "cpd_1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Export(t.Context(), "spring-1", io.Discard); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want %v", err, io.ErrUnexpectedEOF)
	}
}

// quietTransport answers with a body that has no byte until its request ends.
type quietTransport struct{}

func (quietTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, into := io.Pipe()
	context.AfterFunc(r.Context(), func() { into.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
}

func TestAStreamThatSaysNothingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New("https://h", "k", client.Options{HTTP: &http.Client{Transport: quietTransport{}}})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		err = c.Events(t.Context(), "", func(resource.Event) error { return nil })
		if took := time.Since(begun); took != 45*time.Second || !strings.Contains(err.Error(), "nothing has come for 45s") {
			t.Errorf("got %v after %v, want that nothing came for 45s, after 45s", err, took)
		}
	})
}
