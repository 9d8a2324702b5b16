package wirelog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"campaignd/campaign"
	"campaignd/internal/filelock"
	"campaignd/internal/mutant"
)

// ErrUnsupported says that this system has no boot id, so a log could not tell whether the machine
// died.
var ErrUnsupported = errors.New("wire log: this system has no boot id")

// Options say whose log is opened. All fields but Log and Boot are required.
type Options struct {
	// Dir is an existing folder on a local disk.
	Dir string
	// Name begins the names of the files. Two senders with one name exclude each other.
	Name string
	// Ledger is campaign.WireLedger.LedgerID.
	Ledger string
	// Owner names this process in its leases. No other start of it has the same.
	Owner string
	// Boot is the id of the boot; default: the kernel's.
	Boot string
	Log  *slog.Logger
}

// Log is the wire log of this process. Note and Recorded are safe for concurrent use.
type Log struct {
	o    Options
	lock *filelock.Lock
	dead []Dead

	f      *os.File
	seed   uint32
	voided atomic.Bool // the log could not be written: it proves nothing, and the posts go on

	mu      sync.Mutex
	entries int
	free    []int
}

// Dead is the log of a dead process.
type Dead struct {
	campaign.WireLog
	path string
}

// Open locks the folder, reads the logs that dead processes left there, and begins the log of this
// process. campaign.ErrLocked means that another process uses the folder, ErrUnsupported that the
// system has no wire log. The caller ends the log with Close.
func Open(o Options) (_ *Log, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Boot == "" {
		if o.Boot, err = bootID(); err != nil {
			return nil, err
		}
	}
	if strings.ContainsAny(o.Boot+o.Ledger+o.Owner, "\n") || len(o.Boot+o.Ledger+o.Owner) > 2048 || o.Owner == "" {
		return nil, fmt.Errorf("wire log: the owner %q cannot be written", o.Owner)
	}
	d, err := os.Stat(o.Dir)
	if err != nil || !d.IsDir() {
		return nil, fmt.Errorf("data_dir %s is no folder that can be read: create it, or name another", o.Dir)
	}
	l := &Log{o: o}
	if l.lock, err = filelock.Take(filepath.Join(o.Dir, o.Name+".wire.lock")); err != nil {
		var held *filelock.HeldError
		if errors.As(err, &held) {
			return nil, fmt.Errorf("%w: %w; give each process its own data_dir", campaign.ErrLocked, held)
		}
		return nil, fmt.Errorf("data_dir: %w: the folder must be writable by this user", err)
	}
	if l.dead, err = l.readDead(); err == nil {
		err = l.begin()
	}
	if err != nil {
		_ = l.lock.Release() // err is returned
		return nil, fmt.Errorf("wire log: data_dir %s: %w", o.Dir, err)
	}
	return l, nil
}

// readDead reads the logs of earlier owners, and removes those that prove nothing. It leaves the
// log of another ledger, which states nothing about this one.
func (l *Log) readDead() (dead []Dead, err error) {
	paths, err := filepath.Glob(filepath.Join(escape(l.o.Dir), escape(l.o.Name)+".wire-*"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		h, posts, err := readFile(path)
		rebooted := err == nil && h.boot != l.o.Boot
		switch {
		case err != nil || rebooted:
			if rebooted {
				l.o.Log.Info("a wire log is of an earlier start of this machine: it proves nothing", "file", path, "owner", h.owner)
			} else {
				l.o.Log.Warn("a wire log proves nothing: deliveries of its process without an answer are in doubt", "file", path, "err", err)
			}
			if err := os.Remove(path); err != nil {
				return nil, err
			}
		case h.ledger == l.o.Ledger:
			dead = append(dead, Dead{campaign.WireLog{Owner: h.owner, Posts: posts}, path})
		}
	}
	return dead, nil
}

// escape returns the pattern of filepath.Glob that matches name alone.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// readFile reads one log. A copy is refused by its inode: it lacks what was posted after it was
// made.
func readFile(path string) (h header, posts []campaign.Post, err error) {
	f, err := os.Open(path)
	if err != nil {
		return h, nil, err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // a page that could not be written may have lost a post
		return h, nil, err
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return h, nil, err
	}
	if h, posts, err = decode(b); err != nil {
		return h, nil, err
	}
	at, err := inode(f)
	if err == nil && at != h.inode {
		err = errors.New("it is a copy")
	}
	return h, posts, err
}

// begin makes the file of this process.
func (l *Log) begin() error {
	f, err := os.CreateTemp(l.o.Dir, l.o.Name+".wire-*")
	if err != nil {
		return err
	}
	l.f = f
	h := header{boot: l.o.Boot, ledger: l.o.Ledger, owner: l.o.Owner}
	if h.inode, err = inode(f); err == nil {
		var page []byte
		page, l.seed = h.encode(0)
		if _, err = f.WriteAt(page, 0); err == nil {
			err = l.grow()
		}
	}
	if err != nil {
		f.Close()
		_ = os.Remove(f.Name()) // err is returned
	}
	return err
}

// grow adds chunk free entries. Their number is written after them, so that a death in between
// leaves a valid file. The caller has l.mu, or no other goroutine knows l yet.
func (l *Log) grow() error {
	n := l.entries + chunk
	if _, err := l.f.WriteAt(free(l.seed, l.entries, n), int64(headerSize+l.entries*entrySize)); err != nil {
		return err
	}
	if _, err := l.f.WriteAt(encodeCount(n), countAt); err != nil {
		return err
	}
	for i := n - 1; i >= l.entries; i-- {
		l.free = append(l.free, i)
	}
	l.entries = n
	return nil
}

// Dead returns the logs of this ledger's dead processes. The caller records what they state in the
// ledger, and then calls Stated. A nil Log has none.
func (l *Log) Dead() []Dead {
	if l == nil {
		return nil
	}
	return l.dead
}

// Stated removes the log of a dead process, once the ledger has what it states.
func (l *Log) Stated(d Dead) error { return os.Remove(d.path) }

// none is the entry of an attempt that is not written, because the log proves nothing.
const none = -1

// Note writes an attempt before the first byte of its request, and returns its entry. If the log
// cannot be written, it is removed and proves nothing from then on. An error means that not even
// that was possible: the attempt must not be posted.
func (l *Log) Note(p campaign.Post, epoch int64) (no int, err error) {
	if l.voided.Load() {
		return none, nil
	}
	if no, err = l.take(); err == nil {
		var b [entrySize]byte
		entry{p, epoch}.encode(&b, l.seed, no)
		if _, err = l.f.WriteAt(b[:], int64(headerSize+no*entrySize)); err == nil {
			mutant.Crash("wire_noted")
			return no, nil
		}
	}
	return none, l.void(err)
}

// take removes an entry from the free ones.
func (l *Log) take() (no int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) == 0 {
		if err := l.grow(); err != nil {
			return none, err
		}
	}
	no = l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	return no, nil
}

// void makes the log prove nothing from now on, because of an error.
func (l *Log) void(why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.voided.Load() {
		return nil
	}
	_, err := l.f.WriteAt(make([]byte, len(magic)), 0)
	if removed := os.Remove(l.f.Name()); err != nil && removed != nil {
		return fmt.Errorf("wire log: %w", why)
	}
	l.voided.Store(true)
	l.o.Log.Error("the wire log cannot be written: if this process is killed, its deliveries without an answer are in doubt", "err", why)
	return nil
}

// Recorded gives an entry back: the result of its attempt is durable. A doubt is no result.
func (l *Log) Recorded(no int) {
	if no < 0 {
		return
	}
	l.mu.Lock()
	l.free = append(l.free, no)
	l.mu.Unlock()
}

// Unposted removes the entry of an attempt of which certainly nothing was written, and reports
// whether it could. If it could not, the log goes on to say that the attempt may have been posted:
// if the process is killed before the result of the attempt is durable, the attempt is in doubt.
func (l *Log) Unposted(no int) bool {
	if no < 0 {
		return true
	}
	if _, err := l.f.WriteAt(free(l.seed, no, no+1), int64(headerSize+no*entrySize)); err != nil {
		return false
	}
	l.Recorded(no)
	return true
}

// Close unlocks the folder. The file stays: the next process reads in it what this one had posted.
// Close of a nil Log does nothing.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.f.Close(), l.lock.Release())
}
