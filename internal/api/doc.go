// Package api is the operator's REST API on the admin listener, and its client. internal/daemon serves
// it; `campaignd launch` calls it.
//
// It has one route: POST /api/v1/runs launches a campaign over an uploaded list. A process that serves
// it writes its address and a key that it draws at each start into a file beside the ledger, which its
// user alone may read (Access): who may use the ledger may use the API. It promises that nothing of an
// upload leaves the folder of uploads, and that an upload that is given again continues the same run.
package api
