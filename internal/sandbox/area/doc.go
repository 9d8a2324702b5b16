// Package area emulates the areas of the messaging service beside the messages: templates, media,
// and the others of docs/service.md#assumed-operations. Package sandbox calls it: it reads the
// request, finds key and connection, and writes the answer.
//
// An area is a file of rules. Its handlers stand in a map by the name of the operation
// (Areas.Handlers). A handler gets a Call and returns the value of data, a List, or nothing for
// 204; or a Refusal. It holds the sandbox's lock from beginning to end, so it neither locks nor
// waits. Areas.At takes an action for a later instant, World.Post an event for the webhooks.
//
// The package imports nothing of the module, and package time is its clock.
package area
