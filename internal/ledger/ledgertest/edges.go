package ledgertest

import (
	"campaignd/campaign"

	"github.com/google/go-cmp/cmp"
)

var edgePromises = []promise{
	{"ClaimBeginsNoRunBeyondItsMost", func(f *fixture) {
		first, second, third := f.imported(campaign.SegmentSize+1), f.imported(campaign.SegmentSize+1), f.imported(1)
		c := campaign.Claim{Owner: "a", Connection: "conn_1", Runs: []campaign.RunNo{first.No, second.No, third.No}, Max: 3, Lease: long}
		ls, err := f.l.Claim(f.ctx, c)
		f.ok(err)
		var got []campaign.RunNo
		for _, l := range ls {
			got = append(got, l.Run)
		}
		if d := cmp.Diff([]campaign.RunNo{first.No, first.No, second.No}, got); d != "" {
			f.Errorf("at most 3 segments: runs -want +got:\n%s", d)
		}
		if r := f.run(third.No); r.State != campaign.Ready || !r.StartedAt.IsZero() {
			f.Errorf("the run of which nothing was claimed is %s since %v, want it ready", r.State, r.StartedAt)
		}
	}},
	{"AnIntentForAnUnknownSegmentIsFenced", func(f *fixture) {
		r, known := f.leased(10, long)
		elsewhere, nowhere := known, known
		elsewhere.Index, nowhere.Run = 7, 99
		got, err := f.l.Intend(f.ctx, []campaign.Intent{intent(elsewhere, 0, 2), intent(known, 0, 2), intent(nowhere, 0, 2)})
		f.ok(err)
		if d := cmp.Diff([]campaign.Granted{{Fenced: true}, {To: 2}, {Fenced: true}}, got); d != "" {
			f.Errorf("granted -want +got:\n%s", d)
		}
		f.sound(r.No)
	}},
}
