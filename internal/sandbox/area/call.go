package area

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// Call is one request to an area. The sandbox has checked the key, and the connection if the
// request names one.
type Call struct {
	Key   *Key
	ID    string // the variable segment of the path
	Query url.Values
	Now   time.Time
	// Connection is C, or nil if the request names none.
	Connection *Connection
	// Body is the JSON body. It is empty for GET and DELETE, and if the client sent none.
	Body []byte
	// Upload is the form of POST /media.
	Upload *Upload
}

// Handler answers one operation. Its value is the value of data, or a List, or Unlocked, or nil for
// 204.
type Handler func(c *Call) (any, *Refusal)

// Unlocked makes the value of data after the lock was given back.
type Unlocked func() any

// List is an answer that is cut into pages.
type List struct {
	Len  int
	Page func(from, to int) any
}

func list[T any](rows []T) List {
	return List{len(rows), func(from, to int) any { return append([]T{}, rows[from:to]...) }}
}

// take returns the handler of an operation whose body is a T. A member connectionId is the frame's
// and T does not have it.
func take[T any](h func(c *Call, in T) (any, *Refusal)) Handler {
	return func(c *Call) (any, *Refusal) {
		var in T
		if ref := decode(c.Body, &in); ref != nil {
			return nil, ref
		}
		return h(c, in)
	}
}

// shows returns the handler of an operation that answers with one record: own finds it, and view is
// how the service shows it.
func shows[T, V any](own func(*Call) (T, *Refusal), view func(T) V) Handler {
	return func(c *Call) (any, *Refusal) {
		record, ref := own(c)
		if ref != nil {
			return nil, ref
		}
		return view(record), nil
	}
}

// lists returns the handler of an operation that lists the records of the company that is wanted.
func lists[T, V any](all *[]T, company func(T) string, view func(T) V) Handler {
	return func(c *Call) (any, *Refusal) {
		wanted, rows := c.wanted(), []V{}
		for _, record := range *all {
			if wanted == "" || wanted == company(record) {
				rows = append(rows, view(record))
			}
		}
		return list(rows), nil
	}
}

// NoFields refuses a JSON body with members, for an operation without request fields.
func NoFields(body []byte) *Refusal { return decode(body, &struct{}{}) }

// decode reads a JSON object strictly: a member that T does not have, in exactly this spelling, is
// an error, and so is a wrong type.
func decode(raw []byte, into any) *Refusal {
	err := exact(raw, reflect.TypeOf(into).Elem(), "body")
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return RefuseRequest(fmt.Sprintf("body.%s is a %s, want a %s.", wrong.Field, wrong.Value, wrong.Type))
	}
	if err != nil {
		return RefuseRequest(err.Error() + ".")
	}
	return nil
}

var errNoObject = errors.New("the body is not a JSON object")

// exact compares the names of the members with the names in the type. encoding/json alone would
// accept any case.
func exact(raw json.RawMessage, t reflect.Type, where string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case string(raw) == "null":
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && len(raw) > 0 && raw[0] == '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			return err
		}
		for i, p := range parts {
			if err := exact(p, t.Elem(), fmt.Sprintf("%s[%d]", where, i)); err != nil {
				return err
			}
		}
	case t.Kind() == reflect.Struct:
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil || parts == nil {
			if where == "body" {
				return errNoObject
			}
			return fmt.Errorf("%s is not an object", where)
		}
		for name, p := range parts {
			f, ok := member(t, name)
			if where == "body" && name == "connectionId" {
				continue
			}
			if !ok {
				return fmt.Errorf("%s has an unknown field %q", where, name)
			}
			if err := exact(p, f, where+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// member returns the type of the member with this JSON name.
func member(t reflect.Type, name string) (reflect.Type, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name && tag != "-" {
			return f.Type, true
		}
	}
	return nil, false
}

// days returns the days of start and end, which are inclusive. The window is the number of days
// that the platform keeps; 0 means no limit.
func (c *Call) days(window int) (start, end time.Time, _ *Refusal) {
	texts := [2]string{c.Query.Get("start"), c.Query.Get("end")}
	var both [2]time.Time
	for i, text := range texts {
		name := [2]string{"start", "end"}[i]
		if text == "" {
			return start, end, missing(name + " is required, as a date such as 2026-01-31.")
		}
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return start, end, invalid(name + " is not a date such as 2026-01-31.")
		}
		both[i] = day
	}
	start, end = both[0], both[1]
	today := c.Now.UTC().Truncate(24 * time.Hour)
	switch {
	case end.Before(start):
		return start, end, invalid("end is before start.")
	case window > 0 && start.Before(today.AddDate(0, 0, -window)):
		return start, end, &Refusal{400, "outside_window", fmt.Sprintf("start is more than %d days ago.", window), nil}
	}
	return start, earlier(end, today), nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// writable returns the refusal of a change for a company that is suspended.
func (a *Areas) writable(company string) *Refusal {
	if c := a.companies[company]; c != nil && c.Suspended {
		return &RefuseSuspended
	}
	return nil
}

// wanted returns the company whose rows a list shows: the company of C, else of the key, else "".
func (c *Call) wanted() string {
	if c.Connection != nil {
		return c.Connection.Company
	}
	return c.Key.Company
}
