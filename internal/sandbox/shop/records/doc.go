// Package records keeps the records of the emulated commerce platform in tables, and lists them.
// The filters, the sorts, the includes, the pages and the envelope are the same code for each
// collection of the shop. Generated records are computed when they are read. A Table has no lock;
// the shop holds its own.
package records
