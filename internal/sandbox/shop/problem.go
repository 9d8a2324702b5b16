package shop

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"campaignd/internal/sandbox/shop/records"
)

// problem is an answer that is not 200: a status and one of the five shapes of an error
// (docs/commerce.md#errors).
type problem struct {
	status int
	body   any
}

func (p *problem) Error() string { return fmt.Sprintf("%d %v", p.status, p.body) }

// coded is {code, message}.
type coded struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// said is {message}.
type said struct {
	Message string `json:"message"`
}

// traced is the 404 of a record on an admin route.
type traced struct {
	Exception string  `json:"exception"`
	File      string  `json:"file"`
	Line      int     `json:"line"`
	Message   string  `json:"message"`
	Trace     []frame `json:"trace"`
}

// frame is a line of a trace.
type frame struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
}

// failed is the 500 of a payment when nothing is due.
type failed struct {
	Code    int    `json:"code"`
	Data    any    `json:"data"` // always null
	Message string `json:"message"`
	Status  string `json:"status"`
}

// invalidated is {errors, message}.
type invalidated struct {
	Errors  map[string][]string `json:"errors"`
	Message string              `json:"message"`
}

// refuse is {code, message}.
func refuse(status int, message string) *problem { return &problem{status, coded{status, message}} }

// say is {message}.
func say(status int, message string) *problem { return &problem{status, said{message}} }

// invalid is {errors, message} with one fault of one field.
func invalid(field, message string) *problem {
	var f flaws
	f.add(field, message)
	return f.problem()
}

// missing is the 404 of a record. On an admin route it has a trace.
func missing(c *call, kind, id string) *problem {
	if c.route.right != admin {
		return say(http.StatusNotFound, strings.ToUpper(kind[:1])+kind[1:]+" not found")
	}
	return &problem{http.StatusNotFound, traced{
		Exception: "RecordNotFound", File: "/srv/platform/records.php", Line: 412,
		Message: fmt.Sprintf("No query results for %s %.60s", kind, id),
		Trace:   []frame{{"/srv/platform/router.php", 97, "find"}, {"/srv/platform/public/index.php", 21, "dispatch"}},
	}}
}

// nothingDue is the 500 of a payment when the amount to pay is 0 or less.
func nothingDue() *problem {
	return &problem{http.StatusInternalServerError, failed{Code: 500, Message: "The amount to pay is 0 or less", Status: "error"}}
}

// flaws collects what is wrong with a body.
type flaws struct {
	fields map[string][]string
	first  string
}

func (f *flaws) add(field, message string) {
	if f.fields == nil {
		f.fields, f.first = map[string][]string{}, message
	}
	f.fields[field] = append(f.fields[field], message)
}

// require adds a flaw if the text is empty.
func (f *flaws) require(field, text string) {
	if strings.TrimSpace(text) == "" {
		f.add(field, "The "+field+" field is required.")
	}
}

func (f *flaws) problem() *problem {
	return &problem{http.StatusUnprocessableEntity, invalidated{f.fields, f.first}}
}

// err is the answer, or nil if nothing is wrong.
func (f *flaws) err() error {
	if f.fields == nil {
		return nil
	}
	return f.problem()
}

// problemOf is the problem that err is. A handler returns no other errors.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if r, ok := errors.AsType[*records.Refusal](err); ok {
		return say(r.Status, r.Message)
	}
	return say(http.StatusInternalServerError, "Server Error")
}
