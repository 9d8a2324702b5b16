// Package operations is the table of the operations of the messaging service: name, method, path,
// scope, and what the request and the answer hold. The document of the service shows few of these
// paths; the others are assumed (docs/service.md#assumed-operations, a test compares the page).
//
// The sandbox routes by the table, the client takes its paths from it, and a test of the sandbox
// asks every row with every kind of key. The table is data only: it has no code that both sides
// could get wrong together, and it is the one package that both import.
package operations

import "strings"

// Prefix begins the path of every operation (docs/service.md#conventions).
const Prefix = "/api/v1"

// Scope says what an operation is about, and with that which key reaches it.
type Scope uint8

const (
	// Account is open to every key, and is about no client.
	Account Scope = iota
	// Rows lists the rows of the key. With C it lists those of this connection only.
	Rows
	// Connection is about the connection C, which the request must name.
	Connection
	// Record is about the record whose id is in the path.
	Record
	// Partner is for partner-wide keys only.
	Partner
)

// Operation is one row of the table.
type Operation struct {
	// Name is the key under service.assumed.paths.
	Name   string
	Method string
	// Path begins with Prefix. A variable segment is written {id}.
	Path  string
	Scope Scope
	// Request are the fields of the request. C is connectionId; a field with ? is optional.
	Request string
	// Data is the value of data in the answer. T, K and F are the records of the first row that
	// describes them. It is empty for 204.
	Data string
	// Errors are the codes that only this operation has, with their HTTP status.
	Errors string
	// Shown says that the document of the service shows the path.
	Shown bool
	// Follows names the row whose configured path this row follows, if it has none of its own.
	Follows string
}

// Named returns the operation with this name.
func Named(name string) (Operation, bool) {
	for _, o := range All {
		if o.Name == name {
			return o, true
		}
	}
	return Operation{}, false
}

// At returns the path with its variable segments replaced by values, in their order. The values are
// inserted as they are; the caller escapes them.
func (o Operation) At(values ...string) string {
	path := o.Path
	for _, v := range values {
		before, rest, found := strings.Cut(path, "{")
		if !found {
			break
		}
		_, after, _ := strings.Cut(rest, "}")
		path = before + v + after
	}
	return path
}

// Writes reports whether the operation may change something.
func (o Operation) Writes() bool { return o.Method != "GET" }

// Names are the names of all operations, in their order.
func Names() []string {
	names := make([]string, 0, len(All))
	for _, o := range All {
		names = append(names, o.Name)
	}
	return names
}
