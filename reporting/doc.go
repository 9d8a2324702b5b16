// Package reporting folds the deliveries of a run into what people and scripts
// read: the report (table and JSON), the export of every row (CSV), and the
// audit that proves that the sum balances.
//
// The commands `report`, `audit` and `run`, the operator's API and the bucket
// watcher call it. It only reads, through campaign.ReportLedger, and may do so
// beside a running sender. It promises the formats of design section 11, memory
// that does not grow with the list (the audit keeps 17 bytes for each row), and that no
// cell of an export is taken for a formula by a spreadsheet.
package reporting
