package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/daemon"
	"campaignd/internal/sentence"
)

// progress shows the progress of a run on standard error: a bar on a terminal, else a line every
// lineInterval, and the same line every sameInterval.
type progress struct {
	out io.Writer

	mu      sync.Mutex // the import and the watcher of the run call from different goroutines
	last    daemon.Progress
	line    string    // the last plain line
	printed time.Time // when it was printed
	began   start     // of the phase that is shown
	lastRow time.Time // when a row was last done

	// bars is nil where plain lines are printed.
	bars  *mpb.Progress
	bar   *mpb.Bar
	width int // columns of a bar
	// suffix is the text after the bar. The renderer reads it without mu, because show may hold mu
	// while it waits for the renderer.
	suffix atomic.Pointer[string]
}

// lineInterval is the least time between two plain lines of the same phase.
const lineInterval = 5 * time.Second

// sameInterval is the least time between two equal lines: a run may wait for days.
const sameInterval = 10 * time.Minute

// start is where a phase began, for the time that is left of it.
type start struct {
	at   time.Time
	done int64
}

// A bar has a third of the terminal, but at least minBar and at most maxBar columns. Its name and
// the space around it take margins more columns.
const (
	minBar  = 8
	maxBar  = 40
	margins = 20
)

// newProgress shows bars on a terminal with so many columns; 0: plain lines.
func newProgress(out io.Writer, columns int) *progress {
	p := &progress{out: out, width: min(max(columns/3, minBar), maxBar)}
	if columns > 0 {
		p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(p.width), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithAutoRefresh())
	}
	return p
}

// show shows the newest state.
func (p *progress) show(now daemon.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.last
	p.last = now
	if now.Phase != before.Phase {
		p.began = start{time.Now(), now.Done}
	}
	if now.Done != before.Done {
		p.lastRow = time.Now()
	}
	if p.bars != nil {
		p.draw(before.Phase)
		return
	}
	// A detail may count down seconds. Its first appearance is printed at once, each next second is
	// not.
	if now.Phase == before.Phase && (now.Detail == "") == (before.Detail == "") && time.Since(p.printed) < lineInterval {
		return
	}
	line := now.Phase
	if now.Phase == "uploading" {
		line += " the file of the header"
	} else if now.Rows > 0 {
		line += fmt.Sprintf(" %d of %s", now.Done, sentence.Count(now.Rows, "row", "rows"))
	} else if now.Phase == "fetching" {
		line += ", " + soFar(now.Done, time.Since(p.began.at))
	} else if now.Done > 0 {
		line += ", " + sentence.Count(now.Done, "row", "rows") + " so far"
	}
	for _, more := range []string{p.left(), statuses(now), sentence.Printable(now.Detail)} {
		if more != "" {
			line += "; " + more
		}
	}
	if line == p.line && time.Since(p.printed) < sameInterval {
		return
	}
	p.line, p.printed = line, time.Now()
	fmt.Fprintln(p.out, line)
}

// soFar says how many rows were read in a time, and how many that is a second.
func soFar(rows int64, took time.Duration) string {
	return fmt.Sprintf("%s so far, %.0f a second", sentence.Count(rows, "row", "rows"), float64(rows)/max(took.Seconds(), 1))
}

// left returns the time that sending still takes at the mean pace of the phase; "" while the pace
// is unknown or no row is done.
func (p *progress) left() string {
	took, done := time.Since(p.began.at), p.last.Done-p.began.done
	if p.last.Phase != "sending" || time.Since(p.lastRow) >= lineInterval || took < lineInterval || done <= 0 || p.last.Done >= p.last.Rows {
		return ""
	}
	rest := time.Duration(float64(took) * float64(p.last.Rows-p.last.Done) / float64(done))
	if rest > time.Hour {
		rest = rest.Round(time.Minute)
	}
	return campaign.Duration(max(rest.Round(time.Second), time.Second)).String() + " left"
}

func (p *progress) draw(shown string) {
	pace := p.left()
	if p.last.Phase == "fetching" {
		pace = soFar(p.last.Done, time.Since(p.began.at))
	}
	suffix := strings.Trim(pace+", "+cmp.Or(sentence.Printable(p.last.Detail), statuses(p.last)), ", ")
	p.suffix.Store(&suffix)
	if p.bar == nil || p.last.Phase != shown {
		p.endBar()
		// The total is not given to New, because it could not be changed later: a phase that ends
		// early (paused, interrupted) would never complete its bar, and Wait would block for ever.
		// SetTotal below gives it.
		p.bar = p.bars.New(0, mpb.BarStyle(),
			mpb.PrependDecorators(decor.Name(fmt.Sprintf("%-10s", p.last.Phase))),
			mpb.AppendDecorators(decor.Any(p.tail)))
	}
	p.bar.SetTotal(max(p.last.Rows, p.last.Done), false)
	p.bar.SetCurrent(p.last.Done)
}

// tail returns the text after the bar, cut to the width of the terminal. The renderer calls it.
func (p *progress) tail(s decor.Statistics) string {
	switch {
	case s.Completed:
		return sentence.Count(s.Current, "row", "rows")
	case s.Aborted:
		return fmt.Sprintf("%s of %d", sentence.Count(s.Current, "row", "rows"), s.Total)
	}
	text := []rune(fmt.Sprintf("%d/%d %s", s.Current, s.Total, *p.suffix.Load()))
	if free := max(0, s.AvailableWidth-p.width-margins); len(text) > free {
		text = text[:free]
	}
	return string(text)
}

// endBar ends the bar of a phase. A phase that another follows is done.
func (p *progress) endBar() {
	if p.bar != nil {
		p.bar.SetTotal(-1, true)
		p.bar = nil
	}
}

// Write prints whole lines above the bars. Lines written directly to the terminal would be
// overwritten by the next drawing of the bars.
func (p *progress) Write(lines []byte) (int, error) {
	if p.bars != nil {
		if n, err := p.bars.Write(lines); err == nil {
			return n, nil // an error means that the bars are closed
		}
	}
	return p.out.Write(lines)
}

// warn prints the warnings of a preflight.
func (p *progress) warn(f *launch.Preflight) {
	for _, w := range f.Warnings() {
		fmt.Fprintf(p, "warning: %s\n", sentence.Printable(w.String()))
	}
}

// beside warns of an unfinished run that has numbers of the list that is launched.
func (p *progress) beside(r campaign.Run, d launch.ListDifference) {
	fmt.Fprintf(p, "warning: %s of %s is unfinished, and %s of this list too: %s\n",
		r.ID(), launch.Ago(time.Since(r.CreatedAt)), sentence.Count(d.Both, "of its numbers is", "of its numbers are"),
		sentence.Printable(d.String()))
}

// close ends the display; what follows is printed below it.
func (p *progress) close() {
	if p.bars == nil {
		return
	}
	p.mu.Lock()
	if p.bar != nil && p.last.Done < p.last.Rows {
		p.bar.Abort(false) // an interrupted run is not shown as full
		p.bar = nil
	}
	p.endBar()
	p.mu.Unlock()
	p.bars.Wait()
}

// statuses returns the number of rows in each status, in the order of reports.
func statuses(p daemon.Progress) string {
	s := ""
	for _, status := range campaign.Statuses {
		if n := p.Totals[status]; n > 0 {
			if s != "" {
				s += ", "
			}
			s += fmt.Sprintf("%d %s", n, status)
		}
	}
	return s
}
