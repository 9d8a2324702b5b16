// Package resource has what the operator's API is asked and answers: runs, limits, holds, keys,
// files and the like. The commands print the same with -o json. internal/operator makes most of
// them, and package client reads them.
//
// It promises that members may be added and are never renamed, and that times are UTC. Domain types
// that are answers as they are, such as campaign.Why and reporting.Report, are not repeated here.
package resource
