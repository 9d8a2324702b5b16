package service

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"campaignd/internal/messaging"
)

// A service with a certificate of an unknown issuer gets no request, and therefore no key.
func TestAServiceWithAnUnknownCertificateGetsNoKey(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL, APIKey: messaging.NewSecret("key")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Connections(t.Context())
	if err == nil || !strings.Contains(err.Error(), "certificate") || asked.Load() != 0 {
		t.Errorf("asked for connections: %v after %d requests; want an error about the certificate, 0", err, asked.Load())
	}
}
