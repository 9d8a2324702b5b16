package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/internal/tracing"
)

// importChunk is the most rows in one transaction of an import. At 2,000 rows the commit costs less
// than the rows. After a crash at most one chunk is imported again.
const importChunk = 2000

// wideBatch is how many bytes of cells end a chunk early. 2,000 usual rows have less, but a single
// row may have a megabyte.
const wideBatch = 8 << 20

// width is the size of a row's cells in bytes.
func width(cells []string) (n int) {
	for _, c := range cells {
		n += len(c)
	}
	return n
}

// ImportInput is what an import needs. Ledger, Run, Definition and List are required.
type ImportInput struct {
	Ledger interface {
		campaign.RunLedger
		campaign.ImportLedger
		SegmentStates(ctx context.Context, no campaign.RunNo) ([]campaign.SegmentState, error)
	}
	// Run is in state Importing; Rows and Header are those of the ledger.
	Run campaign.Run
	// Definition is that of Run.Definition.
	Definition *file.Definition
	// List is the path of the list; its SHA-256 must be Run.ListHash.
	List string
	// Senders are the recipients.Key of the campaign's own numbers.
	Senders []int64
	// Template is the service's record of the template. With it, a row whose filled body is too
	// long is skipped now and not refused later; nil does not check.
	Template *messaging.TemplateRecord
	// SegmentRows is the most deliveries in a segment (SegmentFor); 0 means SegmentSize.
	SegmentRows int64
	// Sendable is how many sendable rows the preflight counted. policies.canary chooses some of
	// them; 0 chooses the first rows.
	Sendable int64
	// Progress is called after each chunk with the rows in the ledger so far; it may be nil.
	Progress func(rows int64)
}

// ImportCounts counts what the rows of a list became.
type ImportCounts struct {
	Rows    int64
	Queued  int64
	Skipped map[campaign.SkipReason]int64
}

// Import freezes a list: every row becomes exactly one delivery of the run, in chunks of one
// transaction each. It may be interrupted anywhere and called again. It then continues after the
// last row in the ledger, and reads the earlier rows once more, to find duplicates of them. The
// outcome of a row depends on the list and the definition alone. Import needs 16 bytes of memory
// per row for the duplicates, and two chunks of at most 2,000 rows or 8 MiB.
//
// The caller then calls ImportLedger.FinishImport(rows). Errors: ErrListChanged, and the run is
// then failed, because some of its rows may come from another list; ErrFenced if another process
// imports the run; *recipients.FileError when the list cannot be read to its end; *file.Error when
// a variable has no column.
func Import(ctx context.Context, in ImportInput) (ImportCounts, error) {
	list, err := OpenList(in.List, in.Definition.ListOptions(in.List))
	if err != nil {
		return ImportCounts{}, err
	}
	ctx, span := tracing.Begin(ctx, "import", tracing.Fact{Key: "campaignd.run", Text: in.Run.ID()})
	counts, err := importList(ctx, in, list)
	if err != nil {
		span.End("not_imported")
	} else {
		span.End("")
	}
	if closeErr := list.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the list: %w", closeErr)
	}
	if errors.Is(err, ErrListChanged) {
		detail := "the list changed while it was imported; launch it again with --new"
		importing := []campaign.State{campaign.Importing}
		if _, failErr := in.Ledger.SetState(ctx, in.Run.No, importing, campaign.RunStateFailed, "", detail); failErr != nil {
			err = errors.Join(err, fmt.Errorf("mark %s as failed: %w", in.Run.ID(), failErr))
		}
	}
	return counts, err
}

func importList(ctx context.Context, in ImportInput, list *List) (ImportCounts, error) {
	counts := ImportCounts{Skipped: map[campaign.SkipReason]int64{}}
	if !slices.Equal(list.Header(), in.Run.Header) {
		return counts, fmt.Errorf("%s: its columns differ from the columns of %s: %w", in.List, in.Run.ID(), ErrListChanged)
	}
	render, err := in.Definition.Compile(list.Header())
	if err != nil {
		return counts, err
	}
	if in.Template != nil {
		render.HydrateFrom(in.Definition, in.Template)
	}
	segments, err := in.Ledger.SegmentStates(ctx, in.Run.No)
	if err != nil {
		return counts, fmt.Errorf("read the segments of %s: %w", in.Run.ID(), err)
	}
	sticky, err := newSticky(ctx, in.Ledger, in.Definition)
	if err != nil {
		return counts, err
	}

	// One goroutine reads and judges rows while this one writes chunks.
	reading, stop := context.WithCancel(ctx)
	chunks := make(chan chunk)
	failed := make(chan error, 1)
	go func() {
		defer close(chunks)
		failed <- readChunks(reading, in, list, newJudge(in.Definition, render, in.Run.No, in.Senders),
			newCanary(in.Definition.Policies.Canary, in.Run.No, in.Sendable, segments), in.blocks(segments), sticky, &counts, chunks)
	}()
	at := in.Run.Rows
	for c := range chunks {
		if err == nil {
			err = appendChunk(ctx, in, at, c)
			at += int64(len(c.rows))
		}
		if err != nil {
			stop()
		} else if in.Progress != nil {
			in.Progress(at)
		}
	}
	stop()
	readErr := <-failed
	if err == nil {
		err = readErr
	}
	if err != nil {
		return counts, err
	}
	sum, err := list.Sum()
	if err != nil {
		return counts, err
	}
	if sum != in.Run.ListHash {
		return counts, fmt.Errorf("%s: %w", in.List, ErrListChanged)
	}
	return counts, nil
}

// blocks assigns the seqs of the run. The segments of a canary are short, so that all connections
// send some of it.
func (in *ImportInput) blocks(segments []campaign.SegmentState) *blocks {
	b := newBlocks(in.Run.No, in.SegmentRows, segments)
	if c := in.Definition.Policies.Canary; c != nil {
		b.canary = campaign.CanarySegment(c.Count, len(in.Definition.Connections), b.full)
	}
	return b
}

// chunk is what one transaction appends.
type chunk struct {
	rows     []campaign.Delivery
	segments []campaign.Segment
}

// readChunks reads the list to its end. It stops when ctx ends.
func readChunks(ctx context.Context, in ImportInput, list *List, j *judge, first *canary, b *blocks, numbers *sticky,
	counts *ImportCounts, out chan<- chunk) error {
	var c chunk
	ids := make([]blockID, 0, importChunk) // of the rows in c
	bytes := 0                             // of the cells in c
	flush := func() error {
		if len(c.rows) == 0 {
			return nil
		}
		if err := numbers.bind(ctx, c.rows, ids); err != nil {
			return err
		}
		c.segments = b.assign(c.rows, ids)
		ids = ids[:0]
		select {
		case out <- c:
			c, bytes = chunk{}, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for {
		row, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		counts.Rows++
		if counts.Rows&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		d := j.delivery(row)
		if d.Skip != "" {
			counts.Skipped[d.Skip]++
		} else {
			counts.Queued++
		}
		if row.Number <= in.Run.Rows { // the ledger has this row
			if first != nil && d.Skip == "" {
				first.passes()
			}
			continue
		}
		group := ""
		if d.Skip == "" {
			group = j.groupOf(row)
		}
		kind := blockKind{closed: d.Skip != ""}
		kind.afterCanary = !kind.closed && first != nil && !first.chooses(d.Key)
		ids = append(ids, blockID{group, kind})
		if c.rows == nil {
			c.rows = make([]campaign.Delivery, 0, importChunk)
		}
		c.rows = append(c.rows, d)
		if bytes += width(d.Cells); len(c.rows) == importChunk || bytes > wideBatch {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if counts.Rows < in.Run.Rows {
		return fmt.Errorf("%s: has %d rows, and %s already holds %d: %w", in.List, counts.Rows, in.Run.ID(), in.Run.Rows, ErrListChanged)
	}
	return flush()
}

// appendChunk writes one chunk. When the connection broke during the commit, the run's row count
// tells whether the chunk was written.
func appendChunk(ctx context.Context, in ImportInput, after int64, c chunk) error {
	for attempt := 1; ; attempt++ {
		err := in.Ledger.AppendRows(ctx, in.Run.No, after, c.rows, c.segments)
		if err == nil {
			return nil
		}
		if !errors.Is(err, campaign.ErrUnknownCommit) || attempt == 3 {
			return fmt.Errorf("import %s after row %d: %w", in.Run.ID(), after, err)
		}
		run, readErr := in.Ledger.Run(ctx, in.Run.No)
		if readErr != nil {
			return fmt.Errorf("import %s after row %d: %w", in.Run.ID(), after, errors.Join(err, readErr))
		}
		switch run.Rows {
		case after + int64(len(c.rows)):
			return nil
		case after:
		default:
			return fmt.Errorf("import %s: it has %d rows, not %d: %w", in.Run.ID(), run.Rows, after, campaign.ErrFenced)
		}
	}
}

// endImport makes a run with all of its rows ready, or lets it wait for approval, and returns it.
func endImport(ctx context.Context, l interface {
	campaign.RunLedger
	campaign.ImportLedger
}, run campaign.Run, def *file.Definition, rows, queued int64) (campaign.Run, error) {
	state := campaign.Ready
	if def.Policies.Approval.Needed(queued) {
		state = campaign.WaitingApproval
	}
	if err := l.FinishImport(ctx, run.No, rows, state); err != nil {
		return campaign.Run{}, fmt.Errorf("finish the import of %s: %w", run.ID(), err)
	}
	ready, err := l.Run(ctx, run.No)
	if err != nil {
		err = fmt.Errorf("read %s: %w", run.ID(), err)
	}
	return ready, err
}
