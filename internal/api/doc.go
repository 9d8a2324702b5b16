// Package api is the operator's REST API on the admin listener. internal/daemon serves it without
// importing it, because cmd/campaignd passes it to the daemon. Programs and `campaignd launch` call
// it with package client.
//
// Each route decodes a request, calls one method of an operator.Session, and encodes what it
// returns; the OpenAPI document is made from the same types. At each start, a process with an
// SQLite ledger writes its address and a new random key into a file beside the ledger
// (client.Access). Only its user may read that file, so the user of the ledger is a user of the
// API. The package promises that no route answers without a key of its scope, that a key of one
// company sees nothing of another, that no file of an upload is written outside the folder of
// uploads, and that a repeated upload continues the same run.
package api
