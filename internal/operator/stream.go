package operator

import (
	"errors"
	"net/http"
	"time"
)

// stall is the longest time in which the client of a file may read nothing.
const stall = 30 * time.Second

// Stream answers with a CSV file of any length, which has no time limit while its client reads. An
// error means that the client has a part of the file at most.
func Stream(w http.ResponseWriter, name string, write Writer) error {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`.csv"`)
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
