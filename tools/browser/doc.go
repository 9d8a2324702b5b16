// Package browser opens the pages that campaignd makes in a real browser, Debian's chromium, and
// judges them: contrast and structure by axe-core, the width of a phone, both themes, the printed
// page, and that a page says nothing to the console and asks nobody for anything.
//
// It is a module of its own, so that campaignd's has no dependency on a browser. scripts/browser.sh
// makes the reports, builds the program that serves the console, and runs its tests; `make browser`
// and the gate call that.
package browser
