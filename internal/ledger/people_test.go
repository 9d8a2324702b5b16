package ledger

import (
	"testing"
	"time"

	"campaignd/campaign"
)

// crowded is an intent for seqs 2 to 5 of run 3, whose keys are 102 to 105, with all limits that
// count people, and what its transaction knows at 1,000,000.
func crowded() (*Sending, *intent, SendingRows) {
	s, in := ready(func(s *Sending, in *intent) {
		s.Budget, s.People = 0, NewPeople(1_000_000)
		in.Tier = campaign.Tier{Portfolio: "main", Places: 10}
	})
	rows := SendingRows{Keys: map[int64]int64{}}
	for seq := in.From; seq < in.To; seq++ {
		rows.Keys[RowID(3, seq)] = 100 + seq
	}
	return s, in, rows
}

func TestAGrantTakesPlacesOfItsPortfolioOnce(t *testing.T) {
	t.Parallel()
	s, in, rows := crowded()
	s.People.Taken("main", 8)
	s.People.Taken("conn_1", 9) // a connection of that name is another portfolio
	s.People.Reach("main", 102)
	s.People.Inbound("conn_1", 103)
	d := s.Grant(in, rows)
	if d.Mark != 6 || len(d.Reached) != 3 || s.People.Used("main") != 10 {
		t.Fatalf("granted to %d, %d places charged, %d taken; want 6, 3 and 10", d.Mark, len(d.Reached), s.People.Used("main"))
	}
	for i, want := range []Reached{{"main", 102, RowID(3, 2), false}, {"main", 104, RowID(3, 4), true}, {"main", 105, RowID(3, 5), true}} {
		if d.Reached[i] != want {
			t.Errorf("charged %+v, want %+v", d.Reached[i], want)
		}
	}
	s, in, rows = crowded()
	s.People.Taken("main", 9)
	d = s.Grant(in, rows)
	if d.Mark != 3 || d.Full == nil || d.Full.Taken != 10 {
		t.Errorf("granted to %d, full %+v; want 3 and 10 taken", d.Mark, d.Full)
	}
}

func TestAPairIsOfOneConnection(t *testing.T) {
	t.Parallel()
	s, in, rows := crowded()
	in.Tier, in.Pair = campaign.Tier{}, true
	s.People.Contact(Contact{Key: 102, RID: RowID(9, 1), At: s.People.Now - 1000, Connection: "conn_2"})
	s.People.Contact(Contact{Key: 103, RID: RowID(9, 2), At: s.People.Now - 1000, Connection: "conn_1"})
	d := s.Grant(in, rows)
	if _, deferred := d.Defer[3]; len(d.Defer) != 1 || !deferred || len(d.Contacts) != 3 || d.Count != 3 {
		t.Errorf("deferred %v, %d contacts, %d counted; want seq 3, 3 and 3", d.Defer, len(d.Contacts), d.Count)
	}
}

func TestACapIsOfAllCampaignsAndCountsOnce(t *testing.T) {
	t.Parallel()
	s, in, rows := crowded()
	in.Tier, in.Cap = campaign.Tier{}, &campaign.FrequencyLimit{Messages: 1, Per: campaign.Duration(time.Hour)}
	s.People.Contact(Contact{Key: 102, RID: RowID(9, 1), At: s.People.Now - 1000, Capped: true}) // of another run
	s.People.Contact(Contact{Key: 103, RID: RowID(3, 3), At: s.People.Now - 1000, Capped: true}) // its own attempt
	s.People.Contact(Contact{Key: 104, RID: RowID(9, 3), At: s.People.Now - 1000})               // of a run without a cap
	d := s.Grant(in, rows)
	if len(d.Skip) != 1 || d.Skip[2] != campaign.FrequencyCap || len(d.Contacts) != 3 {
		t.Errorf("skipped %v, %d contacts; want seq 2 for frequency_cap, and 3", d.Skip, len(d.Contacts))
	}
}
