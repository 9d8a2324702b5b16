package ledger

import (
	"strconv"
	"strings"

	"campaignd/campaign"
)

// DropClause is the end of a SELECT of dropped files that reads what f asks for, with its
// arguments.
func DropClause(f campaign.DropFilter) (sql string, args []any) {
	var all []string
	add := func(condition string, value any) {
		args = append(args, value)
		all = append(all, condition+"$"+strconv.Itoa(len(args)))
	}
	if f.No != 0 {
		add("no = ", f.No)
	}
	if f.Before != 0 {
		add("no < ", f.Before)
	}
	if f.Bucket != "" {
		add("bucket = ", f.Bucket)
	}
	if f.Campaign != "" {
		add("campaign = ", f.Campaign)
	}
	if f.Hash != "" {
		add("hash = ", f.Hash)
	}
	order := "no DESC"
	if !f.Due.IsZero() { // the condition of the index dropped_file_due
		add("state IN ('claimed', 'launched') AND next_at <= ", Millis(f.Due))
		order = "next_at, no"
	}
	if len(all) > 0 {
		sql = " WHERE " + strings.Join(all, " AND ")
	}
	sql += " ORDER BY " + order
	return limited(sql, args, f.Limit)
}

// ScanDroppedFile reads the columns of dropped_file in the order of the schema.
func ScanDroppedFile(scan func(...any) error) (f campaign.DroppedFile, err error) {
	var taken, next int64
	err = scan(&f.No, &f.Bucket, &f.Key, &f.ETag, &f.Size, &f.Campaign, &f.Hash, &f.State, &f.Run, &f.Place, &f.Detail, &taken, &next,
		&f.Sidecar)
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
