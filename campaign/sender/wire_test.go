package sender

import (
	"errors"
	"slices"
	"testing"

	"campaignd/campaign"
)

// notes is a wire log in memory.
type notes struct {
	posts    []campaign.Post
	epochs   []int64
	recorded []int
	err      error
}

func (n *notes) Note(p campaign.Post, epoch int64) (int, error) {
	n.posts, n.epochs = append(n.posts, p), append(n.epochs, epoch)
	return len(n.posts) - 1, n.err
}

func (n *notes) Unposted(int) bool { return true }

func (n *notes) Recorded(entry int) { n.recorded = append(n.recorded, entry) }

// noted is an attempt of seq whose request is written.
func noted(t *testing.T, p *poster, s *segment, seq int64) *attempt {
	t.Helper()
	a := &attempt{segment: s, delivery: campaign.Delivery{Run: 1, Seq: seq}, nth: 2}
	if err := p.note(a); err != nil {
		t.Fatal(err)
	}
	return a
}

// The slot of an attempt is used again when its result is durable. A doubt is not: the ledger
// ignores that of a fenced process.
func TestASlotIsFreeOnceItsResultIsDurable(t *testing.T) {
	log := &notes{}
	e, err := New(&resultLedger{}, nil, nil, Options{Owner: "a", Wire: log})
	if err != nil {
		t.Fatal(err)
	}
	p := newPoster(e, newNumber("conn_1", e.o), newQueue(newSignal()))
	s := newSegment(&run{no: 1}, campaign.Lease{Epoch: 7}, newSignal())
	s.pending.Add(4)
	var batch []unwritten
	kinds := []campaign.ResultKind{campaign.ResultAccepted, campaign.ResultDoubt, campaign.ResultDeferred, campaign.ResultRefused}
	var want []campaign.Post
	for seq, kind := range kinds {
		a := noted(t, p, s, int64(seq))
		want = append(want, campaign.Post{Run: 1, Seq: int64(seq), Attempt: 2})
		batch = append(batch, unwritten{campaign.Result{Kind: kind}, s, int(a.entry.Load()) - 1})
	}
	if !slices.Equal(log.posts, want) || log.epochs[0] != 7 {
		t.Errorf("got the notes %+v of epoch %d, want %+v of 7", log.posts, log.epochs[0], want)
	}
	if len(log.recorded) != 0 {
		t.Errorf("got %v free before anything was written, want none", log.recorded)
	}
	e.rec.write(batch)
	if want := []int{0, 2, 3}; !slices.Equal(log.recorded, want) {
		t.Errorf("got the entries %v free, want %v", log.recorded, want)
	}
}

func TestAnAttemptThatCannotBeNotedIsNotPosted(t *testing.T) {
	log := &notes{err: errors.New("no space")}
	e, err := New(&resultLedger{}, nil, nil, Options{Owner: "a", Wire: log})
	if err != nil {
		t.Fatal(err)
	}
	p := newPoster(e, newNumber("conn_1", e.o), newQueue(newSignal()))
	a := &attempt{segment: newSegment(&run{no: 1}, campaign.Lease{}, newSignal())}
	if err := p.note(a); !errors.Is(err, log.err) {
		t.Errorf("got %v, want %v", err, log.err)
	}
	e.o.Wire = nil
	a.entry.Store(0)
	if err := p.note(a); err != nil {
		t.Errorf("without a wire log: got %v, want nil", err)
	}
}
