package drops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/price"
	"campaignd/campaign/reception"
	"campaignd/internal/clock"
	"campaignd/reporting"
)

// Ledger is the part of the ledger that a Watcher needs.
type Ledger interface {
	campaign.DropLedger
	campaign.RunLedger
	campaign.ReportLedger
	campaign.PriceLedger
	campaign.JobLedger
	LostTimes(ctx context.Context) ([]reception.LostTime, error) // the newest first
}

// Request asks for the run of a dropped file.
type Request struct {
	Campaign string
	List     string // path of the list in the spool
	Key      string // launch key: one run per key
	// Sidecar is the content of the file SidecarName, which overrides fields of the campaign; nil:
	// none.
	Sidecar     []byte
	SidecarName string
	// Again comes from the file's rule, at each try. The sidecar may say otherwise.
	Again bool
	// Rejects is the path of a file for the rows that a correction can help.
	Rejects string
}

// Refused says that a list can have no run, whatever is tried again.
type Refused struct {
	Code    string // invalid_list, invalid_sidecar, duplicate, sent_before, list_lost, lost_time
	Message string // for the log and the ledger, so without names of the list
	// Findings are for the results beside the file, whose readers have the list: they may name its
	// columns. The first one replaces Message there.
	Findings []file.Finding
	// Run is the run that has numbers of the list, and Difference how the list differs from its list;
	// "" and nil for another code than sent_before.
	Run        string
	Difference *launch.ListDifference
}

// Error implements error.
func (e *Refused) Error() string { return e.Message }

// Options are what a Watcher needs.
type Options struct {
	Rules  []Rule
	Ledger Ledger
	// Spool is a folder of this process alone, in which lists are read, and which survives a restart.
	Spool string
	// Launch brings the run of a request to Ready. It may be called again with the same Key, and then
	// goes on with the campaign that the run has stored. It returns a *Refused for a list at fault;
	// any other error is tried again.
	Launch func(ctx context.Context, r Request) (campaign.Run, error)
	// Missing says why no file of the campaign can be launched now, nil if it can.
	Missing func(campaign string) error
	Rates   *price.Rates // price the messages of reports; nil: there are none
	// Page reads what the report of a run shows to people, and returns what writes it; nil: no page is
	// written.
	Page func(context.Context, campaign.Run, *reporting.Report) (func(io.Writer) error, error)
	// Owner and Lease are those of the jobs of this process. Lease must be positive.
	Owner string
	Lease time.Duration
	// Expiry is the time by which a list that was lost is given up; default: this machine's clock.
	// While it is not known, none is.
	Expiry clock.Source
	Log    *slog.Logger
}

// launchesAtOnce bounds the files that a process works on: each import takes a core and 16 bytes a
// row.
const launchesAtOnce = 2

// Watcher takes files from the folders of its rules. Make it with New.
type Watcher struct {
	o       Options
	folders []*watched
	most    int           // mostListed, less in tests
	freed   chan struct{} // the work on a file has ended
	listed  chan *watched // the look at a folder has ended
	work    sync.WaitGroup

	mu     sync.Mutex
	busy   map[int64]bool      // files that this process works on
	again  map[int64]time.Time // when a file whose last try failed may be tried again
	stated map[int64][32]byte  // the report that was written last, by file
}

// watched is the folder of a rule: a local one, or a prefix of a bucket.
type watched struct {
	Rule
	next   time.Time
	seen   map[string]sighting
	waits  map[string]campaign.DropWait // by key
	noted  []campaign.DropWait          // as stored
	ready  []Object                     // complete, and not claimed yet
	failed string                       // the fault that was logged last
	// listing says that a goroutine looks at the folder; until it has ended the rest is its own.
	listing bool
}

// sighting is a version that was seen, and what is known of it.
type sighting struct {
	etag  string
	since time.Time
	// changed counts how often the version was another one than at the look before.
	changed int
	taken   string // why it is not taken any more; "" while it may be
	// claimed is when this process last found it claimed. The process that claimed it moves it away.
	claimed time.Time
}

// New makes a Watcher.
func New(o Options) *Watcher {
	w := &Watcher{o: o, most: mostListed, freed: make(chan struct{}, 1), listed: make(chan *watched, len(o.Rules)), busy: map[int64]bool{},
		again: map[int64]time.Time{}, stated: map[int64][32]byte{}}
	for _, r := range o.Rules {
		w.folders = append(w.folders, &watched{Rule: r, seen: map[string]sighting{}, waits: map[string]campaign.DropWait{}})
	}
	return w
}

// step is the longest time between two looks at what is due.
const step = 500 * time.Millisecond

// The bounds of one look at a folder. A listing that exceeds one is a fault of its folder, and no
// file is taken there.
const (
	listWithin = time.Minute
	mostListed = 200_000 // files and folders; each takes about 200 bytes
)

// mostChanges is how many looks in a row may find another version of a file of a bucket, which has
// no quiet time, until it has to stay the same for changedQuiet. A server whose ETags differ each
// time would make a file of each look.
const (
	mostChanges  = 2
	changedQuiet = 10 * time.Second
)

// Run watches until ctx ends, and returns when its goroutines have ended. Each folder is listed by
// itself, so that one that does not answer delays no other.
func (w *Watcher) Run(ctx context.Context) {
	defer w.work.Wait()
	for {
		for _, p := range w.folders {
			if !p.listing && !time.Now().Before(p.next) {
				p.listing = true
				w.work.Go(func() {
					began := time.Now()
					w.look(ctx, p)
					p.next = time.Now().Add(max(p.Bucket.Every(), 20*time.Since(began))) // listing takes at most 5 % of the time
					if p.failed != "" {
						p.next = time.Now().Add(max(p.Bucket.Every(), time.Since(began)))
					}
					w.listed <- p
				})
			}
			if !p.listing {
				w.claim(ctx, p)
			}
			w.due(ctx, p)
		}
		select {
		case <-ctx.Done():
			return
		case p := <-w.listed:
			p.listing = false
		case <-w.freed:
		case <-time.After(step):
		}
	}
}

// look lists a folder, and decides what becomes of each file.
func (w *Watcher) look(ctx context.Context, p *watched) {
	now := time.Now()
	seen, waits := map[string]sighting{}, map[string]campaign.DropWait{}
	wait := func(key, reason string) {
		since := now
		if before, ok := p.waits[key]; ok && before.Reason == reason {
			since = before.Since
		}
		waits[key] = campaign.DropWait{Bucket: p.Name, Prefix: p.Prefix, Key: key, Reason: reason, Since: since}
	}
	others := 0           // files and folders that are never taken
	var sidecars []string // the lists that a sidecar here is of
	missing := sync.OnceValue(func() error { return w.o.Missing(p.Campaign) })
	p.ready = p.ready[:0]
	within, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	listed, unread := 0, error(nil)
	for o, err := range p.Bucket.List(within, p.Prefix) {
		if ctx.Err() != nil {
			return
		}
		if listed++; listed > w.most {
			err = fmt.Errorf("its listing has more than %d files and does not end: remove old ones, or give a prefix", w.most)
		}
		if unread = err; unread != nil || within.Err() != nil {
			break
		}
		if !p.takes(o.Key) {
			if list := p.sidecarOf(o.Key); list != "" {
				sidecars = append(sidecars, list)
			}
			if why := p.foreign(o.Key); why != "" && !w.watchedBelow(p, o.Key) {
				if others++; others <= mostForeign {
					wait(o.Key, why)
				}
			}
			continue
		}
		s, ok := p.seen[o.Key]
		switch {
		case !ok:
			s = sighting{etag: o.ETag, since: now}
		case s.etag != o.ETag:
			s = sighting{etag: o.ETag, since: now, changed: s.changed + 1}
		case now.Sub(s.since) >= changedQuiet:
			s.changed = 0
		}
		seen[o.Key] = s
		if s.taken != "" {
			wait(o.Key, s.taken)
			continue
		}
		if now.Sub(s.claimed) < tryAgain {
			continue
		}
		if why := fault(o); why != "" {
			wait(o.Key, why)
			continue
		}
		if err := missing(); err != nil {
			wait(o.Key, err.Error())
			continue
		}
		switch least, written := p.Bucket.Quiet(o); {
		case written:
			wait(o.Key, "a process is writing it")
		case least == 0 && s.changed > mostChanges && now.Sub(s.since) < changedQuiet:
			wait(o.Key, fmt.Sprintf("each look finds another version of it; it is taken when one has stayed for %s", changedQuiet))
		case now.Sub(s.since) < least:
			if now.Sub(s.since) >= quietKnown {
				wait(o.Key, fmt.Sprintf("it is taken when it has stayed unchanged for %s", least))
			}
		default:
			p.ready = append(p.ready, o)
			if now.Sub(s.since) > 2*time.Second+least { // it has waited for other files
				wait(o.Key, "it is taken when one of the files before it is launched")
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return
	case within.Err() != nil:
		unread = fmt.Errorf("its listing did not end within %s, after %d files", listWithin, listed)
	}
	if unread != nil {
		wait("", "it cannot be read: "+unread.Error())
		seen = p.seen // what was seen before the fault still counts after it
		p.ready, sidecars = nil, nil
	}
	for _, list := range sidecars {
		if _, there := seen[list]; !there && others < mostForeign {
			others++
			wait(sidecar(list), lone(list))
		}
	}
	slices.SortFunc(p.ready, func(a, b Object) int { return strings.Compare(a.Key, b.Key) })
	p.seen, p.waits = seen, waits
	w.note(ctx, p)
}

// claim claims files that are complete, while this process may work on more.
func (w *Watcher) claim(ctx context.Context, p *watched) {
	for len(p.ready) > 0 && w.free() && ctx.Err() == nil {
		o := p.ready[0]
		p.ready = p.ready[1:]
		now := time.Now()
		f, claimed, err := w.o.Ledger.ClaimFile(ctx, campaign.DroppedFile{Bucket: p.Name, Key: o.Key, ETag: o.ETag, Size: o.Size,
			Campaign: p.Campaign, TakenAt: now, NextAt: now.Add(w.o.Lease)})
		switch s := p.seen[o.Key]; {
		case err != nil:
			return // the engine logs that the ledger is away
		case f.State == campaign.DropClaimed:
			s.claimed = now
			p.seen[o.Key] = s
			if claimed {
				w.o.Log.Info("file taken", "bucket", p.Name, "file", o.Key, "bytes", o.Size)
				w.start(ctx, p, f)
			}
		default:
			s.taken = takenBefore(f)
			p.seen[o.Key] = s
		}
	}
}

// mostDue is how many due files are read at a time. It is more than all processes work on, so that
// some of those that were read are free.
const mostDue = 64

// due starts what is due of the files of a bucket: a file whose process died, one that is tried
// again, or results that are to be written.
func (w *Watcher) due(ctx context.Context, p *watched) {
	if !w.free() {
		return
	}
	files, err := w.o.Ledger.DroppedFiles(ctx, campaign.DropFilter{Bucket: p.Name, Due: time.Now(), Limit: mostDue})
	if err != nil {
		return // the engine logs that the ledger is away
	}
	for _, f := range files {
		w.start(ctx, p, f)
	}
}

// free reports whether this process may work on another file.
func (w *Watcher) free() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.busy) < launchesAtOnce
}

// start works on a file in the background, unless this process does already or may work on no more.
func (w *Watcher) start(ctx context.Context, p *watched, f campaign.DroppedFile) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[f.No] || len(w.busy) >= launchesAtOnce || time.Now().Before(w.again[f.No]) {
		return
	}
	w.busy[f.No] = true
	w.work.Go(func() {
		err := w.advance(ctx, p, f)
		if err != nil && ctx.Err() == nil && !errors.Is(err, campaign.ErrTaken) && !errors.Is(err, campaign.ErrFenced) &&
			!errors.Is(err, campaign.ErrUnwritable) {
			w.o.Log.Warn("a dropped file is tried again", "file", f.Key, "err", err)
		}
		w.mu.Lock()
		delete(w.busy, f.No)
		if delete(w.again, f.No); err != nil {
			w.rest(f.No)
		}
		w.mu.Unlock()
		select {
		case w.freed <- struct{}{}:
		default:
		}
	})
}
