package ledgertest

import (
	"fmt"

	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

// numbersKept keeps the numbers of every part, and fails unless it kept those of want.
func (f *fixture) numbersKept(want int) {
	f.Helper()
	for n := 0; ; n++ {
		kept, err := f.l.KeepNumbers(f.ctx)
		f.ok(err)
		if !kept {
			if n != want {
				f.Errorf("%d parts kept; want %d", n, want)
			}
			return
		}
	}
}

// rowsOf are the rows of a number in all runs as run/seq, "run/?" for a part that has to be read.
func (f *fixture) rowsOf(key int64) (all []string) {
	f.Helper()
	for before := int64(0); ; {
		parts, err := f.l.PersonParts(f.ctx, key, before)
		f.ok(err)
		if len(parts) == 0 {
			return all
		}
		for _, p := range parts {
			if before = p.ID; p.Unread {
				all = append(all, fmt.Sprintf("%d/?", p.Run))
			}
			for _, seq := range p.Seqs {
				all = append(all, fmt.Sprintf("%d/%d", p.Run, seq))
			}
		}
	}
}

func (f *fixture) hasRows(key int64, want ...string) {
	f.Helper()
	if d := cmp.Diff(want, f.rowsOf(key)); d != "" {
		f.Errorf("rows of %d (-want +got):\n%s", key, d)
	}
}

var personPromises = []promise{
	{"ANumberIsFoundInEveryRun", func(f *fixture) {
		f.imported(campaign.SegmentSize + 40)
		f.imported(20)
		f.hasRows(key(30), "2/?", "1/?")
		f.numbersKept(2)
		f.numbersKept(0)
		f.create() // its import goes on
		f.imported(31)
		f.hasRows(key(30), "4/?", "1/30")
		f.numbersKept(1)
		f.hasRows(key(30), "4/30", "1/30")
		f.hasRows(key(campaign.SegmentSize+39), fmt.Sprintf("1/%d", campaign.SegmentSize+39))
		f.hasRows(key(31), "1/31")
		f.hasRows(1)
	}},
	{"APositionInAPartBeginsWithIt", func(f *fixture) {
		f.imported(campaign.SegmentSize + 40)
		f.imported(20)
		all, err := f.l.PersonParts(f.ctx, key(30), 0)
		f.ok(err)
		for _, p := range all {
			parts, err := f.l.PersonParts(f.ctx, key(30), p.ID+1)
			f.ok(err)
			if len(parts) == 0 || parts[0].ID != p.ID {
				f.Errorf("before the second segment of part %d: got %+v, want the part first", p.ID, parts)
			}
		}
	}},
	{"ADuplicateIsFoundWithItsNumber", func(f *fixture) {
		r := f.create()
		rows := deliveries(0, 100)
		for i := range rows {
			if i%2 == 1 {
				rows[i].Key, rows[i].To, rows[i].Skip = rows[0].Key, rows[0].To, campaign.Duplicate
			}
		}
		rows[99].Key = 0 // no number
		f.ok(f.l.AppendRows(f.ctx, r.No, 0, rows, []campaign.Segment{{Run: r.No, Hi: 100}}))
		f.ok(f.l.FinishImport(f.ctx, r.No, 100, campaign.Ready))
		f.numbersKept(1)
		if got := f.rowsOf(key(0)); len(got) != 50 || got[0] != "1/0" || got[49] != "1/97" {
			f.Errorf("rows of the number: %v; want 1/0 and the 49 duplicates", got)
		}
		f.hasRows(key(2), "1/2")
	}},
	{"AnErasedNumberIsInNoPage", func(f *fixture) {
		f.over(20)
		f.numbersKept(1)
		f.over(20)
		f.erases(5, campaign.Erased{Rows: 2})
		f.numbersKept(1)
		f.hasRows(key(5))
		f.hasRows(key(6), "2/6", "1/6")
	}},
	{"RetentionForgetsTheNumbersOfItsRows", func(f *fixture) {
		r := f.over(20)
		f.numbersKept(1)
		f.retires(later(), r.Rows)
		f.hasRows(key(5), "1/?")
		f.numbersKept(0)
	}},
}
