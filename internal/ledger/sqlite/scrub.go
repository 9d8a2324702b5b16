package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"campaignd/internal/ledger/sqlite/dbfile"
)

// The free space of a file keeps what was in it: rows that were shortened or deleted, copies of
// rows on the page that they moved away from when it was split, and whole pages of deleted rows.
// PRAGMA secure_delete would overwrite that as it arises, at the cost of each write of the senders,
// and leaves a file as it is that was written without it. Therefore Erase overwrites all free
// space, in steps, through the table of the file's pages (https://www.sqlite.org/dbpage.html).

// scrubPages is how many pages one step reads: 2 MiB, some 5 ms.
const scrubPages = 512

const (
	sqlPages     = `PRAGMA page_count`
	sqlPage      = `SELECT data FROM sqlite_dbpage WHERE pgno = ?`
	sqlWritePage = `UPDATE sqlite_dbpage SET data = ?2 WHERE pgno = ?1`
)

// scrub overwrites the free space of the file, and empties the write-ahead log.
func (l *Ledger) scrub(ctx context.Context) error {
	for from, end := int64(1), int64(1); from <= end; from += scrubPages {
		if err := l.submit(ctx, &op{urgency: bulk, rows: scrubPages, run: func(t *tx) (err error) {
			end, err = t.scrub(from)
			return err
		}}); err != nil {
			return err
		}
	}
	return l.emptyLog(ctx)
}

// scrub overwrites the free space of the pages from the given one on. It returns the last page of
// the file.
func (t *tx) scrub(from int64) (end int64, err error) {
	if err := t.row(sqlPages, nil, &end); err != nil {
		return 0, err
	}
	free, err := t.freePages()
	if err != nil {
		return 0, err
	}
	for no := from; no <= min(end, from+scrubPages-1); no++ {
		var page []byte
		if err := t.row(sqlPage, args(no), &page); err != nil {
			return 0, err
		}
		used, isFree := free[no]
		if isFree && !dbfile.Blank(page[used:]) || !isFree && dbfile.BlankTree(page, no) {
			if _, err := t.exec(sqlWritePage, no, page); err != nil {
				return 0, err
			}
		}
	}
	return end, nil
}

// freePages returns the pages of the free list, and how many bytes of each the list uses: a trunk
// names the next trunk, a number of pages, and these pages
// (https://www.sqlite.org/fileformat2.html#the_freelist).
func (t *tx) freePages() (map[int64]int, error) {
	used := map[int64]int{}
	var page []byte
	if err := t.row(sqlPage, args(1), &page); err != nil {
		return nil, err
	}
	for trunk := int64(binary.BigEndian.Uint32(page[32:])); trunk != 0; {
		if err := t.row(sqlPage, args(trunk), &page); err != nil {
			return nil, err
		}
		n := int(binary.BigEndian.Uint32(page[4:]))
		if _, again := used[trunk]; again || 8+4*n > len(page) {
			return nil, fmt.Errorf("page %d of the list of free pages is damaged", trunk)
		}
		used[trunk] = 8 + 4*n
		for i := range n {
			used[int64(binary.BigEndian.Uint32(page[8+4*i:]))] = 0
		}
		trunk = int64(binary.BigEndian.Uint32(page))
	}
	return used, nil
}

// How long emptyLog waits for readers. Writers wait for each try.
const (
	logTry   = 200 * time.Millisecond
	logTries = 25
)

// errLogHeld says that old transactions are still in the write-ahead log.
var errLogHeld = errors.New("a reader holds the write-ahead log, which may still have the number: end that report or shell, " +
	"and repeat the command")

const (
	sqlTryShort = `PRAGMA busy_timeout = 200`
	sqlTryLong  = `PRAGMA busy_timeout = 5000`
)

// emptyLog moves the write-ahead log into the file and truncates it.
func (l *Ledger) emptyLog(ctx context.Context) error {
	conn, err := l.checks.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, sqlTryShort); err != nil {
		return err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), sqlTryLong) //nolint:errcheck // it fails on a closed connection only
	for range logTries {
		var held, frames, moved int64
		if err := conn.QueryRowContext(ctx, sqlTruncate).Scan(&held, &frames, &moved); err != nil {
			return explain(l.path, err)
		}
		if held == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(logTry):
		}
	}
	return explain(l.path, errLogHeld)
}
