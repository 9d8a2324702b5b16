package launch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/recipients"
)

func TestSeqsOfAGroupLieTogether(t *testing.T) {
	b := newBlocks(7, 2, nil)
	var seqs []int64
	for _, row := range []struct {
		group  string
		closed bool
	}{{"a", false}, {"b", false}, {"a", false}, {"a", true}, {"a", false}, {"a", true}, {"b", false}, {"a", true}} {
		seqs = append(seqs, b.seq(blockID{row.group, blockKind{closed: row.closed}}))
	}
	// Two rows to a segment; the rows that are never sent share one.
	if diff := cmp.Diff([]int64{0, 4096, 1, 8192, 12288, 8193, 4097, 8194}, seqs); diff != "" {
		t.Errorf("seqs -want +got:\n%s", diff)
	}
	want := []campaign.Segment{
		{Run: 7, Index: 0, Group: "a", Lo: 0, Hi: 2}, {Run: 7, Index: 1, Group: "b", Lo: 4096, Hi: 4098},
		{Run: 7, Index: 2, Group: "a", Lo: 8192, Hi: 8195, Closed: true}, {Run: 7, Index: 3, Group: "a", Lo: 12288, Hi: 12289},
	}
	if diff := cmp.Diff(want, b.take()); diff != "" {
		t.Errorf("segments -want +got:\n%s", diff)
	}
	if again := b.take(); len(again) != 0 {
		t.Errorf("%v grew since the last take, want none", again)
	}
	if seq := b.seq(blockID{"a", blockKind{}}); seq != 12289 {
		t.Errorf("the next of group a is %d, want 12289", seq)
	}
	if diff := cmp.Diff([]campaign.Segment{{Run: 7, Index: 3, Group: "a", Lo: 12288, Hi: 12290}}, b.take()); diff != "" {
		t.Errorf("grown -want +got:\n%s", diff)
	}
}

func TestSeqsGoOnWhereAnImportStopped(t *testing.T) {
	b := newBlocks(7, 0, []campaign.SegmentState{
		{Segment: campaign.Segment{Run: 7, Index: 2, Group: "a", Lo: 8192, Hi: 8200}},
		{Segment: campaign.Segment{Run: 7, Index: 0, Group: "a", Lo: 0, Hi: 4096}},
		{Segment: campaign.Segment{Run: 7, Index: 1, Closed: true, Lo: 4096, Hi: 4097}},
	})
	for _, c := range []struct {
		group  string
		closed bool
		want   int64
	}{{"a", false, 8200}, {"", true, 4097}, {"", false, 12288}, {"a", true, 16384}} {
		if got := b.seq(blockID{c.group, blockKind{closed: c.closed}}); got != c.want {
			t.Errorf("seq(%q, %v) = %d, want %d", c.group, c.closed, got, c.want)
		}
	}
	full := newBlocks(1, 0, nil) // 0: SegmentSize
	for i := range int64(campaign.SegmentSize) {
		if got := full.seq(blockID{"", blockKind{}}); got != i {
			t.Fatalf("seq %d, want %d", got, i)
		}
	}
	full.seq(blockID{"", blockKind{}})
	if got := len(full.take()); got != 2 {
		t.Errorf("%d segments for 4,097 rows, want 2", got)
	}
}

func TestCountriesAreThoseOfTheNumber(t *testing.T) {
	c := recipients.NewCountries()
	for range 2 { // the second time from the cache
		for to, want := range map[string]string{
			"+2348031234567": "NG", "+12025550143": "US", "+16135550143": "CA", "+14165550143": "CA", "+74951234567": "RU", "+77011234567": "KZ",
			"+442079460958": "GB", "+447781234567": "GG", "+390612345678": "IT", "+3585012345678": "FI", "+8821612345678": "", "+21012345678": "",
			"+123456": "", "": "", "+1202555": "US", "+abcdefgh": "",
		} {
			if got := c.Region(to); got != want {
				t.Errorf("country of %s = %q, want %q", to, got, want)
			}
		}
	}
}
