// Package uploads keeps what callers upload to a process that serves: a folder for each campaign
// with its list, and lists that arrive in parts. The operator's API and the console use one Folder,
// so that its bounds hold for both.
//
// It promises that a list is read as it arrived: no part changes a list that a launch reads, and a
// list that arrived in parts has the hash that it is named by. An upload that no unfinished run
// needs is removed.
package uploads

import "errors"

// Kind is a kind of Fault.
type Kind string

// The kinds.
const (
	NotFound    Kind = "not found"
	Busy        Kind = "busy"         // it may be tried again
	NotNow      Kind = "not now"      // the list is whole, and is being read
	WrongOffset Kind = "wrong offset" // Fault.Received is the right one
	WrongHash   Kind = "wrong hash"
	TooLarge    Kind = "too large"
	NoSpace     Kind = "no space"
	Broken      Kind = "broken" // a part was not read to its end
	Closed      Kind = "closed" // the process sends nothing (Folder.Closed)
)

// Fault is why an upload is refused.
type Fault struct {
	Kind     Kind
	Message  string
	Received int64 // of WrongOffset, the bytes that have come
}

func (f *Fault) Error() string { return f.Message }

// is reports whether err is a fault of a kind.
func is(err error, kind Kind) bool {
	var fault *Fault
	return errors.As(err, &fault) && fault.Kind == kind
}
