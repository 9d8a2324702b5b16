package ledger

import (
	"strconv"
	"strings"

	"campaignd/campaign"
)

// DropClause is the end of a SELECT of dropped files that reads what f asks for, with its arguments.
// dialect is that of RunClause.
func DropClause(f campaign.DropFilter, dialect string) (sql string, args []any) {
	var all []string
	if f.Bucket != "" {
		args = append(args, f.Bucket)
		all = append(all, "bucket = "+dialect+"1")
	}
	order := "no DESC"
	if !f.Due.IsZero() {
		args = append(args, Millis(f.Due))
		all = append(all, "state IN ('claimed', 'launched') AND next_at <= "+dialect+strconv.Itoa(len(args)))
		order = "next_at, no"
	}
	if len(all) > 0 {
		sql = " WHERE " + strings.Join(all, " AND ")
	}
	sql += " ORDER BY " + order
	if f.Limit > 0 {
		args = append(args, int64(f.Limit))
		sql += " LIMIT " + dialect + strconv.Itoa(len(args))
	}
	return sql, args
}

// ScanDroppedFile reads the columns of dropped_file in the order of the schema.
func ScanDroppedFile(scan func(...any) error) (f campaign.DroppedFile, err error) {
	var taken, next int64
	err = scan(&f.No, &f.Bucket, &f.Key, &f.ETag, &f.Size, &f.Campaign, &f.Hash, &f.State, &f.Run, &f.Place, &f.Detail, &taken, &next)
	f.TakenAt, f.NextAt = TimeOf(taken), TimeOf(next)
	return f, err
}

// ScanDropWait reads bucket, prefix, key, reason and since.
func ScanDropWait(scan func(...any) error) (w campaign.DropWait, err error) {
	var since int64
	err = scan(&w.Bucket, &w.Prefix, &w.Key, &w.Reason, &since)
	w.Since = TimeOf(since)
	return w, err
}
