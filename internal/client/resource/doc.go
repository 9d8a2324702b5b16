// Package resource has the types of the operator's API, as JSON: runs, limits, holds, keys, files
// and others. internal/operator makes most of them, package client reads them, and the commands
// print them with -o json.
//
// Later versions may add members and never rename one. Times are UTC. Some answers are types of
// other packages, such as why.Answer and reporting.Report.
package resource
