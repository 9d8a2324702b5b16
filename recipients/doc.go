// Package recipients turns an audience file into a stream of recipients: it
// finds out how the CSV is written, maps its columns, judges each phone number
// and names the line of everything that is wrong.
//
// campaign.Import and the preflight of `check` call it; the commands that take a
// single number (test, erase, suppressions) use Phones and Key.
//
// It promises: every record of the file becomes exactly one Row, good or
// faulted, numbered from 1; nothing is repaired silently, so a number that a
// spreadsheet damaged is a Fault with a sentence and never somebody else's
// number; cells stay what the list had, after decoding; memory does not grow
// with the length of the list, nor with the length of a line; and what
// strangers send (bombs, endless lines, broken quotes, NUL bytes) ends in a
// FileError that names the line and the remedy.
//
// The way of the bytes, each part with a file of its own:
//
//	file -> source (gzip, zstd, expansion limit) -> dialect (encoding, delimiter, sep= line)
//	     -> guard (record limit, NUL, what the current record looks like)
//	     -> encoding/csv -> gocsv.Unmarshaller -> Reader -> Phones -> Row
package recipients
