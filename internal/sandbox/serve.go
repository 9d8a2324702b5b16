package sandbox

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"campaignd/internal/operations"
	"campaignd/internal/sandbox/arrival"
	"campaignd/internal/sandbox/draw"
)

// ConnContext is for http.Server.ConnContext. With it a message counts in the worst second of its
// number when it reached this machine. Without it, it counts when the sandbox gets its turn, which
// on a busy machine is later. A nil connection stands for the latter.
func ConnContext(ctx context.Context, c net.Conn) context.Context { return arrival.Note(ctx, c) }

// ServeHTTP answers as the service does. The paths under /sandbox/ control the sandbox.
func (s *Sandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if strings.HasPrefix(path, "/sandbox/") {
		s.control(w, r)
		return
	}
	if commercePath(path) {
		s.commerce.ServeHTTP(w, r)
		return
	}
	// Every response has an x-request-id (docs/service.md#conventions).
	id := draw.Mix(s.boot, s.requests.Add(1))
	w.Header()["X-Request-Id"] = []string{"req_" + strconv.FormatUint(id, 36)}
	if s.opt.API == APICloud && cloudVersion.MatchString(path) {
		s.serveCloud(w, r)
		return
	}
	switch proto := r.Header.Get("X-Forwarded-Proto"); {
	case proto == "http", s.opt.RequireHTTPS && r.TLS == nil && proto != "https":
		w.Header().Set("Location", "https://"+r.Host+r.URL.RequestURI())
		w.WriteHeader(http.StatusMovedPermanently)
		return
	case !s.opt.AllowBots && botAgent(r.UserAgent()):
		writeRaw(w, http.StatusForbidden, "text/plain; charset=UTF-8", []byte("error code: 1010"))
		return
	case !strings.HasPrefix(path, operations.Prefix+"/"):
		refuse(w, &refusePath)
		return
	case strings.HasSuffix(path, "/"):
		to := *r.URL
		to.Path = strings.TrimRight(path, "/")
		w.Header().Set("Location", to.RequestURI())
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	key := s.keys[token]
	if !ok || key == nil {
		refuse(w, &refuseKey)
		return
	}
	s.route(w, r, key, path)
}

// commercePath reports whether the commerce platform answers a path. It refuses /v1 by name.
func commercePath(path string) bool {
	return begins(path, "/2023-11/", "/oauth/", "/pay/", "/v1/")
}

// botAgent reports whether the CDN refuses the agent: an empty one, or the default agent of a
// scripting library (docs/service.md#authentication). The document does not show the list of the
// CDN.
func botAgent(agent string) bool {
	return agent == "" || begins(agent,
		"Go-http-client/", "python-requests/", "Python-urllib/", "python-httpx/", "Python/", "aiohttp/", "curl/", "Wget/",
		"libwww-perl/", "Java/", "okhttp/", "axios/", "node-fetch", "node", "undici", "Ruby", "Apache-HttpClient/", "PHP/", "GuzzleHttp/")
}

// begins reports whether a text begins with one of the prefixes.
func begins(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// scoped returns the connection with this id if the key covers it, else nil. A key of one company
// covers only that company (docs/service.md#authentication).
func (s *Sandbox) scoped(key *Key, id string) *connection {
	c := s.connection[id]
	if c == nil || !covers(key, c.Company) {
		return nil
	}
	return c
}

func covers(key *Key, company string) bool { return key.Company == "" || key.Company == company }

func (s *Sandbox) suspended(c *company) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.Suspended
}
