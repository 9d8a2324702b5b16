// Package client is the operator's API of a running campaignd, for programs: its words.
//
// The types are what the API answers and what the commands print with -o json. internal/operator makes
// them. Times are UTC; members may be added, never renamed.
package client
