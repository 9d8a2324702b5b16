package operator

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/campaign"
)

// noteErasure notes an erasure outside the ledger, so that EraseAgain can repeat it in a restored
// backup. The line has the time, the ledger and the pseudonyms of the number. These are keyed
// hashes, and only the ledger and its backups have the key. The first byte ends a line that a crash
// cut off.
func noteErasure(path, ledger string, pseudonyms []int64, now time.Time) (err error) {
	line := fmt.Sprintf("\n%s %s %s\n", now.UTC().Format(time.RFC3339), ledger, strings.Trim(fmt.Sprint(pseudonyms), "[]"))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.WriteString(line); err != nil {
		return err
	}
	return f.Sync()
}

// NotedErasures returns the pseudonyms of the numbers that were erased from a ledger since a time,
// as a file of erasures has them, and how many numbers these are. A file that does not exist has
// none.
func NotedErasures(path, ledger string, since time.Time) (pseudonyms []int64, numbers int, err error) {
	f, err := os.Open(path) //nolint:gosec // the operator's own path
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for no := 1; lines.Scan(); no++ {
		words := strings.Fields(lines.Text())
		if len(words) < 3 { // empty, or cut off by a crash: then its number was not erased
			continue
		}
		at, err := time.Parse(time.RFC3339, words[0])
		if err != nil {
			return nil, 0, fmt.Errorf("%s, line %d is damaged: %w", path, no, err)
		}
		if words[1] != ledger || at.Before(since.Truncate(time.Second)) {
			continue
		}
		for i, word := range words[2:] {
			p, err := strconv.ParseInt(word, 10, 64)
			if err != nil || p >= 0 {
				return nil, 0, fmt.Errorf("%s, line %d is damaged: %q is no pseudonym", path, no, word)
			}
			if slices.Contains(pseudonyms, p) {
				continue // the number was erased twice
			}
			if pseudonyms = append(pseudonyms, p); i == 0 {
				numbers++
			}
		}
	}
	return pseudonyms, numbers, lines.Err()
}

// EraseAgain erases the numbers with these pseudonyms, which a ledger that went back in time may
// have again. From the first step on nothing is sent to them.
func (d *Session) EraseAgain(ctx context.Context, pseudonyms []int64, numbers int) (done campaign.Erased, err error) {
	if err := d.note(ctx, "erase", count(numbers), "again, after a restore"); err != nil {
		return done, err
	}
	var all []campaign.Suppression
	for _, p := range pseudonyms {
		all = append(all, campaign.Suppression{Key: p, Scope: campaign.ScopeAll, Source: campaign.SourceErasure})
	}
	if _, err := d.Ledger.Suppress(ctx, all); err != nil {
		return done, err
	}
	keys, err := d.Ledger.Named(ctx, pseudonyms)
	if err != nil {
		return done, err
	}
	for _, key := range keys {
		one, err := d.Ledger.Erase(ctx, key)
		done.Rows, done.UnderWay = done.Rows+one.Rows, done.UnderWay+one.UnderWay
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
