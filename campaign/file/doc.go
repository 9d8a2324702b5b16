// Package file reads campaign files: it parses the YAML, names each fault with its line, fills in
// defaults, and renders a message from the cells of a row. It also prints the JSON Schema, compares
// two files, and checks the media and the template that a file names.
//
// campaign/launch launches what it read, and everything that has a run reads the stored file of the
// run with ParseStored. It promises that a file of which it returns a Definition can be sent, as
// far as the file alone can say; it asks neither the service nor the ledger.
package file
