package sender

import (
	"maps"
	"sync/atomic"
	"time"

	"campaignd/campaign"
	"campaignd/recipients"
)

// meetings are the connections over which several runs may meet at one recipient. Their intents
// keep campaign.PairSpace between two messages; the others need not be compared.
type meetings struct {
	everywhere  bool
	connections map[string]int // runs that send over each
}

// meetingsOf finds them among all unfinished runs. A run that this engine does not send, because it
// is imported or paused or another process sends it, may use any connection.
func meetingsOf(unfinished []campaign.Run, active []*run) *meetings {
	m := &meetings{everywhere: len(unfinished) > 1 && len(unfinished) > len(active), connections: map[string]int{}}
	for _, r := range active {
		for _, c := range r.connections {
			m.connections[c]++
		}
	}
	return m
}

// at reports whether runs may meet over the connection.
func (m *meetings) at(connection string) bool { return m.everywhere || m.connections[connection] > 1 }

// pairs are the recipients posted to within the last PairSpace, as far as other runs may meet them.
// Intents keep two messages apart; a queue may bring their posts closer together. A message that
// was certainly not sent does not count. The attempts are not kept: in twelve seconds there are ten
// times as many as are queued and in flight.
type pairs struct {
	posted map[int64]meeting // by recipients.Key
	swept  time.Time
}

// meeting is an attempt that was about to be posted.
type meeting struct {
	unsent *atomic.Bool // of the attempt
	at     int64        // Unix nanoseconds
}

// pairSpace is the time between two attempts at one person. The first byte of an attempt may leave
// up to lateness later.
const pairSpace = campaign.PairSpace + lateness

// wait returns until when an attempt must wait for another message to its recipient; zero: it is
// posted at now.
func (p *pairs) wait(a *attempt, now time.Time) time.Time {
	if !a.pair || a.delivery.Key == 0 {
		return time.Time{}
	}
	key := recipients.Fold(a.delivery.Key)
	m, met := p.posted[key]
	if until := time.Unix(0, m.at).Add(pairSpace); met && until.After(now) && !m.unsent.Load() {
		return until
	}
	if p.posted == nil {
		p.posted = map[int64]meeting{}
	}
	if now.Sub(p.swept) >= pairSpace/4 {
		p.swept = now
		over := now.Add(-pairSpace).UnixNano()
		maps.DeleteFunc(p.posted, func(_ int64, m meeting) bool { return m.at <= over })
	}
	a.unsent = new(atomic.Bool)
	p.posted[key] = meeting{a.unsent, now.UnixNano()}
	return time.Time{}
}
