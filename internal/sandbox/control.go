package sandbox

import (
	"campaignd/internal/sandbox/area"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/goccy/go-yaml"
)

// controls returns the handler of the sandbox's own paths:
//
//	GET  /sandbox/health
//	GET  /sandbox/stats                        Truth without messages
//	GET  /sandbox/truth?format=json|csv        Truth with all messages, or only the messages as CSV
//	GET  /sandbox/messages/{id}                one accepted message
//	GET  /sandbox/faults, PUT /sandbox/faults  the faults in force, as YAML or JSON
//	POST /sandbox/inbound                      Inbound: a recipient writes, presses a button or sets a preference
//	POST /sandbox/templates/{name}/status      {"status", "language"?, "silent"?}
//	POST /sandbox/companies/{id}/status        {"status": "suspended" or "active"}
//	POST /sandbox/numbers/{connection}/quality {"quality"}
//	POST /sandbox/numbers/{connection}/status  {"status": "connected", "restricted", "maintenance" or "disconnected"}
//	POST /sandbox/accounts/{company}/status    {"status": "active", "locked" or "unpaid"}
//	POST /sandbox/allowance                    {"messages": how many more, "company"?}
//	POST /sandbox/events                       Announcement: an event of any type and age, as YAML or JSON
//	/sandbox/commerce/...                      the commerce platform's (internal/sandbox/shop, routes.go)
//	POST /sandbox/replay                       Replay; {} replays the events that were not answered 2xx
func (s *Sandbox) controls() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sandbox/health", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, single[string]{Data: "ok"})
	})
	mux.HandleFunc("GET /sandbox/stats", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, single[Truth]{Data: s.Stats()})
	})
	mux.HandleFunc("GET /sandbox/truth", func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch f := r.URL.Query().Get("format"); f {
		case "", "json":
			w.Header().Set("Content-Type", "application/json")
			err = s.WriteJSON(w)
		case "csv":
			w.Header().Set("Content-Type", "text/csv; charset=utf-8")
			err = s.WriteCSV(w)
		default:
			refuse(w, area.RefuseRequest("format is json or csv."))
		}
		if err != nil {
			s.opt.Log.Debug("reader of the truth left", "err", err)
		}
	})
	mux.HandleFunc("GET /sandbox/messages/{id}", func(w http.ResponseWriter, r *http.Request) {
		m, ok := s.Message(r.PathValue("id"))
		if !ok {
			refuse(w, area.Refuse(404, "not_found", "No such message."))
			return
		}
		writeJSON(w, http.StatusOK, single[Message]{Data: m})
	})
	mux.HandleFunc("GET /sandbox/faults", func(w http.ResponseWriter, _ *http.Request) {
		raw, err := yaml.Marshal(s.Faults())
		if err != nil {
			refuse(w, area.RefuseRequest(err.Error()))
			return
		}
		writeRaw(w, http.StatusOK, "application/yaml", raw)
	})
	mux.HandleFunc("PUT /sandbox/faults", func(w http.ResponseWriter, r *http.Request) {
		var f Faults
		if readYAML(w, r, &f) {
			done(w, s.SetFaults(f))
		}
	})
	mux.HandleFunc("POST /sandbox/inbound", func(w http.ResponseWriter, r *http.Request) {
		var in Inbound
		if !read(w, r, &in) {
			return
		}
		id, err := s.Receive(in)
		if err != nil {
			done(w, err)
			return
		}
		writeJSON(w, http.StatusOK, single[map[string]string]{Data: map[string]string{"messageId": id}})
	})
	mux.HandleFunc("POST /sandbox/templates/{name}/status", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Status, Language string
			Silent           bool
		}
		if read(w, r, &in) {
			done(w, s.setTemplate(r.PathValue("name"), in.Language, in.Status, in.Silent))
		}
	})
	status := func(set func(id, status string) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var in struct{ Status string }
			if read(w, r, &in) {
				done(w, set(r.PathValue("id"), in.Status))
			}
		}
	}
	mux.HandleFunc("POST /sandbox/companies/{id}/status", status(s.SetCompany))
	mux.HandleFunc("POST /sandbox/numbers/{id}/quality", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Quality string }
		if read(w, r, &in) {
			done(w, s.SetQuality(r.PathValue("id"), in.Quality))
		}
	})
	mux.HandleFunc("POST /sandbox/numbers/{id}/status", status(s.SetNumber))
	mux.HandleFunc("POST /sandbox/accounts/{id}/status", status(s.SetAccount))
	mux.HandleFunc("POST /sandbox/allowance", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages int64
			Company  string
		}
		if read(w, r, &in) {
			done(w, s.SetAllowance(in.Company, in.Messages))
		}
	})
	mux.HandleFunc("POST /sandbox/events", func(w http.ResponseWriter, r *http.Request) {
		var a Announcement
		if readYAML(w, r, &a) {
			done(w, s.Announce(a))
		}
	})
	mux.HandleFunc("POST /sandbox/replay", func(w http.ResponseWriter, r *http.Request) {
		var in Replay
		if read(w, r, &in) {
			writeJSON(w, http.StatusOK, single[map[string]int]{Data: map[string]int{"replayed": s.Replay(in)}})
		}
	})
	mux.HandleFunc("/sandbox/commerce/", func(w http.ResponseWriter, r *http.Request) { s.commerce.ServeHTTP(w, r) })
	return mux
}

// control answers the paths below /sandbox/. It refuses a request with an Authorization header,
// because that request is meant for the service. It also refuses a request that a web page of
// another site makes.
func (s *Sandbox) control(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Sandbox", "control")
	if r.Header.Get("Authorization") != "" {
		refuse(w, area.Refuse(400, "not_the_service", "Paths under /sandbox/ are the sandbox's own: send no Authorization header."))
		return
	}
	if err := http.NewCrossOriginProtection().Check(r); err != nil {
		refuse(w, area.Refuse(403, "cross_origin", err.Error()))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// read decodes the JSON body of a control request. An empty body gives the zero value. If the body
// is wrong, read answers with an error and returns false.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil && err != io.EOF {
		refuse(w, area.RefuseRequest(err.Error()))
		return false
	}
	return true
}

// readYAML is read for a body in YAML or JSON, with durations such as 30s.
func readYAML(w http.ResponseWriter, r *http.Request, into any) bool {
	dec := yaml.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody), yaml.Strict())
	if err := dec.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		refuse(w, area.RefuseRequest(yaml.FormatError(err, false, false)))
		return false
	}
	return true
}

func done(w http.ResponseWriter, err error) {
	if err != nil {
		refuse(w, area.RefuseRequest(err.Error()))
		return
	}
	writeJSON(w, http.StatusOK, single[time.Time]{Data: time.Now().UTC()})
}
