// Package client calls the operator's API of a running campaignd: a Client has a method for each
// route. The commands with --server use it. A process writes an Access beside its SQLite ledger, so
// that the commands of its user on the same machine find it.
//
// Package resource has the types that the methods take and return. A failure of the API is an
// *Error with a stable code; any other error means that no answer came. Lists of any length come in
// pages, each of which names the next one. Files are copied as they come. An answer that has not
// changed is not sent again (ETag).
package client
