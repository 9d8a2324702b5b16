//go:build long

package ledgertest

// Long reports whether the long tests run, too.
const Long = true
