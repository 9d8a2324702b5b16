package ledger

import "campaignd/recipients"

// FoldPage is how many segments one query finds with messages that the table sender may not have.
const FoldPage = 1000

// FoldSenders calls fold for each such segment. unfolded returns up to FoldPage of them with keys
// greater than after, in the order of the keys.
func FoldSenders(unfolded func(after int64) ([]SentSegment, error), fold func(SentSegment) error) error {
	for after := int64(0); ; {
		page, err := unfolded(after)
		if err != nil {
			return err
		}
		for _, s := range page {
			if err := fold(s); err != nil {
				return err
			}
			after = s.Key
		}
		if len(page) < FoldPage {
			return nil
		}
	}
}

// LastSender chooses among the connections that reached a recipient.
type LastSender struct {
	own  map[string]string
	last map[int64]reached
}

type reached struct {
	connection string
	at         int64
}

// NewLastSender chooses among these connections only.
func NewLastSender(connections []string) *LastSender {
	l := &LastSender{map[string]string{}, map[int64]reached{}}
	for _, c := range connections {
		l.own[c] = c
	}
	return l
}

// Add reads key, connection and at of a row of the table sender.
func (l *LastSender) Add(scan func(...any) error) error {
	var key, at int64
	var connection string
	if err := scan(&key, &connection, &at); err != nil {
		return err
	}
	own, ok := l.own[connection]
	key = recipients.Fold(key)
	if was := l.last[key]; ok && (was.connection == "" || at > was.at || at == was.at && own < was.connection) {
		l.last[key] = reached{own, at}
	}
	return nil
}

// Connections returns the connection of each recipient by its key, in both spellings.
func (l *LastSender) Connections() map[int64]string {
	of := make(map[int64]string, len(l.last))
	for key, r := range l.last {
		for _, key := range recipients.Spelled([]int64{key}) {
			of[key] = r.connection
		}
	}
	return of
}
