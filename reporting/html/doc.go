// Package html makes the report of a run as one HTML file for people: without script and without a
// request to anywhere, for a light and a dark screen, a phone, and one page of A4.
//
// The command `report --html`, the operator's API and the watcher of dropped files call it. A file
// has at most MaxSize bytes whatever the run: long breakdowns end with how many others there are,
// and long runs are drawn in longer steps. It names no recipient. Every text is cleaned, shortened
// and escaped; the Content-Security-Policy in the file allows its own style and font only
// (docs/design-language.md).
package html
