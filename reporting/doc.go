// Package reporting makes from the deliveries of a run what people and scripts
// read: the report (table and JSON), the export of every row (CSV), and the
// audit that proves that the sum balances.
//
// The commands `report`, `audit`, `run` and `check` call it. It only reads, through
// campaign.ReportLedger, and may do so while the run is sent. It promises the formats of
// docs/operations.md#what-scripts-may-rely-on. Memory does not grow with the list, except that
// the audit keeps 17 bytes for each row. No cell of an export is taken for a formula by a
// spreadsheet.
package reporting
