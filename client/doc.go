// Package client is the operator's API of a running campaignd, for programs: its words, and a
// Client with a method for each route. The commands with --server use it.
//
// The types are what the API answers and what the commands print with -o json. internal/operator
// makes them. Times are UTC; members may be added, never renamed. A failure of the API is an *Error
// with a stable code; any other error means that no answer came. Lists of any length have an
// iterator such as AllDeliveries. Files are copied as they come. An answer that has not changed is
// not sent again (ETag).
package client
