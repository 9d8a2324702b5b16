// Package api is the operator's REST API on the admin listener. internal/daemon serves it without
// importing it: cmd/campaignd gives it to the daemon. Programs and `campaignd launch` call it with
// package client.
//
// Each route decodes a request, calls one method of an operator.Session, and encodes what it
// returns; the OpenAPI document is made from the same types. A process beside an SQLite ledger
// writes its address and a key that it draws at each start into a file beside the ledger, which its
// user alone may read (client.Access): a user of the ledger is a user of the API. It promises that
// no route answers without a key of its scope, that a key of one company sees nothing of another,
// that nothing of an upload leaves the folder of uploads, and that an upload that is given again
// continues the same run.
package api
