// Package recipients turns an audience file into a stream of recipients: it
// detects how the CSV is written, maps its columns, checks each phone number
// and names the line of everything that is wrong.
//
// launch.Import and the preflight of `check` call it; the commands that take a
// single number (test, erase, suppressions) use Phones and Key.
//
// It promises:
//   - Every record of the file becomes exactly one Row, good or faulted, numbered from 1.
//   - Nothing is repaired silently: a number that a spreadsheet damaged becomes a Fault with a
//     sentence, never another person's number. Cells stay as the list has them, after decoding.
//   - Memory does not grow with the length of the list, nor with the length of a line.
//   - Hostile input (compression bombs, endless lines, broken quotes, NUL bytes) ends in a
//     FileError that names the line and the remedy (docs/protocol.md#untrusted-input).
//
// The bytes pass through these parts, each in a file of its own:
//
//	file -> source (gzip, zstd, expansion limit) -> dialect (encoding, delimiter, sep= line)
//	     -> guard (record limit, NUL, the bytes of the current record)
//	     -> encoding/csv -> gocsv.Unmarshaller -> Reader -> Phones -> Row
package recipients
