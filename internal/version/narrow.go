//go:build 386 || arm || mips || mipsle

package version

// A 32-bit build is refused here, with a line that says why, and not only where some constant
// overflows: row numbers, sizes of lists and keys of phone numbers are larger than an int has room
// for there (docs/operations.md#platforms).
const _ = campaigndNeedsA64BitPlatform
