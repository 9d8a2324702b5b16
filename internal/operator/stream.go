package operator

import (
	"errors"
	"net/http"
	"time"

	"campaignd/reporting/html"
)

// stall is the longest time in which the client of a file may read nothing.
const stall = 30 * time.Second

// Media is the kind of a file that is an answer.
type Media struct{ Name, Kind, Suffix, Disposition string }

// The kinds of files. A browser shows the report of a run, and saves a list.
var (
	JSON = Media{"JSON", "application/json", ".json", "attachment"}
	CSV  = Media{"CSV", "text/csv", ".csv", "attachment"}
	HTML = Media{"HTML", "text/html", ".html", "inline"}
)

// Stream answers with a file of any length, which has no time limit while its client reads. An
// error means that the client has a part of the file at most. HTML is the report of a run.
func Stream(w http.ResponseWriter, m Media, name string, write Writer) error {
	w.Header().Set("Content-Type", m.Kind+"; charset=utf-8")
	w.Header().Set("Content-Disposition", m.Disposition+`; filename="`+name+m.Suffix+`"`)
	if m == HTML {
		w.Header().Set("Content-Security-Policy", html.Policy()) // the file has it too
	}
	return write(&longAnswer{w, http.NewResponseController(w)})
}

// longAnswer is an answer without a time limit while its client reads.
type longAnswer struct {
	http.ResponseWriter
	c *http.ResponseController
}

func (a *longAnswer) Write(p []byte) (int, error) {
	if err := a.c.SetWriteDeadline(time.Now().Add(stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return a.ResponseWriter.Write(p)
}
