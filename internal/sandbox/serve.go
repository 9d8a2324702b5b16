package sandbox

import (
	"net/http"
	"strconv"
	"strings"
)

// prefix begins the path of every endpoint (docs/service.md#operations).
const prefix = "/api/v1"

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
	id := mix(s.boot, s.requests.Add(1))
	w.Header()["X-Request-Id"] = []string{"req_" + strconv.FormatUint(id, 36)}
	switch proto := r.Header.Get("X-Forwarded-Proto"); {
	case proto == "http", s.opt.RequireHTTPS && r.TLS == nil && proto != "https":
		w.Header().Set("Location", "https://"+r.Host+r.URL.RequestURI())
		w.WriteHeader(http.StatusMovedPermanently)
		return
	case !s.opt.AllowBots && botAgent(r.UserAgent()):
		writeRaw(w, http.StatusForbidden, "text/plain; charset=UTF-8", []byte("error code: 1010"))
		return
	case !strings.HasPrefix(path, prefix+"/"):
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
	if key.Company != "" && s.suspended(s.company[key.Company]) {
		refuse(w, &refuseSuspended) // rule 10
		return
	}
	s.route(w, r, key, path[len(prefix):])
}

// commercePath reports whether the commerce platform answers a path. It refuses /v1 by name.
func commercePath(path string) bool {
	for _, begin := range [...]string{"/2023-11/", "/oauth/", "/pay/", "/v1/"} {
		if strings.HasPrefix(path, begin) {
			return true
		}
	}
	return false
}

// route calls the handler of the path, which is given without the prefix.
func (s *Sandbox) route(w http.ResponseWriter, r *http.Request, key *Key, path string) {
	get, post := r.Method == http.MethodGet, r.Method == http.MethodPost
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if s.away(w, name) {
		return
	}
	switch {
	case path == "/messages" && post:
		s.send(w, r, key)
	case path == "/connections" && get:
		s.listConnections(w, r, key)
	case path == "/numbers" && get && !s.opt.HideNumbers:
		s.listNumbers(w, r, key)
	case path == "/templates" && get:
		s.listTemplates(w, r, key)
	case path == "/companies" && get:
		s.listCompanies(w, key)
	case path == "/media" && post:
		s.upload(w, r, key)
	case path == "/webhooks" && post:
		s.registerWebhook(w, r, key)
	case path == "/webhooks" && get:
		s.listWebhooks(w, key)
	case path == "/webhooks/replay" && post:
		s.replayWebhooks(w, r, key)
	case strings.HasPrefix(path, "/webhooks/") && r.Method == http.MethodDelete:
		s.deleteWebhook(w, key, strings.TrimPrefix(path, "/webhooks/"))
	case path == "/billing" || strings.HasPrefix(path, "/billing/"):
		s.billing(w, r, key)
	case path == "/messages", path == "/connections", path == "/templates", path == "/companies",
		path == "/media", path == "/webhooks", path == "/numbers" && !s.opt.HideNumbers:
		refuse(w, &refuseMethod)
	default:
		refuse(w, &refusePath)
	}
}

// botAgent reports whether the CDN refuses the agent: an empty one, or the default agent of a
// scripting library (docs/service.md#authentication). The document does not show the list of the
// CDN.
func botAgent(agent string) bool {
	if agent == "" {
		return true
	}
	for _, p := range [...]string{
		"Go-http-client/", "python-requests/", "Python-urllib/", "python-httpx/", "Python/", "aiohttp/", "curl/", "Wget/",
		"libwww-perl/", "Java/", "okhttp/", "axios/", "node-fetch", "node", "undici", "Ruby", "Apache-HttpClient/", "PHP/", "GuzzleHttp/",
	} {
		if strings.HasPrefix(agent, p) {
			return true
		}
	}
	return false
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
