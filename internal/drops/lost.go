package drops

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/sentence"
)

// Written implements Bucket. The ETag ends in the time of the last change of the text, which a copy
// may have of its original (objectOf).
func (b *Folder) Written(o Object) time.Time { return timeOf(o.ETag, "-", 16, time.Nanosecond) }

// Written implements Bucket. The ETag ends in the time of the upload (etagOf).
func (b *S3) Written(o Object) time.Time { return timeOf(o.ETag, " ", 10, time.Millisecond) }

// timeOf reads the last field of an ETag, a number of units since 1970; zero if there is none.
func timeOf(etag, separator string, base int, unit time.Duration) time.Time {
	n, err := strconv.ParseInt(etag[strings.LastIndex(etag, separator)+1:], base, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(0, n*int64(unit))
}

// refuseLost refuses a list that may have been launched in the time that the ledger lost: it was
// there when the ledger was quarantined, and may lie where it was because it could not be moved.
func (t *task) refuseLost(ctx context.Context) error {
	lost, err := t.o.Ledger.LostTimes(ctx)
	if err != nil || len(lost) == 0 || t.p.Bucket.Written(t.object()).After(lost[0].At) {
		return err
	}
	return &Refused{Code: "lost_time", Message: fmt.Sprintf("it may have been launched in the time that the ledger lost, because it was "+
		"written before the quarantine of %s; if it was not, launch it with `campaignd launch`", sentence.Instant(lost[0].At))}
}
