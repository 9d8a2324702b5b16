package ledger

import (
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/recipients"
)

const (
	// WishCap bounds the wishes that wait for the number of their person: the oldest go first. They
	// wait as long as first receipts are kept.
	WishCap = 100_000
	// WishStep is how many of them a sweep tries to attribute.
	WishStep = 500
	// PairStale is the age from which a pair that is told again is written again.
	PairStale = 24 * time.Hour
)

// Numbers are numbers of persons, by recipients.Key.
type Numbers map[int64]string // E.164

// Recipient is who got a message of ours, and the connection that sent it.
type Recipient struct {
	Key      int64
	To, Over string
}

// Users reads what attribution needs to know of persons without a number, in its transaction.
type Users interface {
	// Recipients returns the recipients of messages of ours, by message id.
	Recipients(messages []string) (map[string][]Recipient, error)
	// Numbers returns what pairs say of user ids.
	Numbers(userIDs []string) (map[string]Numbers, error)
	// Waiting returns the wishes of user ids that wait.
	Waiting(userIDs []string) ([]campaign.Wish, error)
}

// Attributed is what follows from events about persons without a number.
type Attributed struct {
	Pairs []campaign.Pair // to store
	Keep  []campaign.Wish // to store until their persons are known
	Done  []campaign.Wish // are in the events now: none of them waits any longer
	Lost  int             // changes of the number of a person who is not known
}

// Attribute adds to the events the suppressions and opt-ins of persons whom their events do not
// name by a number: the recipient of our message that the event is about, else the number that a
// pair tells. An opt-out and a change of number count for each number that a user id had, an opt-in
// only for the one of a person with one number. Pairs that are new also attribute the wishes that
// wait.
// platform are the connections of the Cloud API.
func Attribute(e campaign.Events, u Users, platform []string) (campaign.Events, Attributed, error) {
	var done Attributed
	if len(e.Pairs)+len(e.Wishes) == 0 && !slices.ContainsFunc(e.Moved, byUser) {
		return e, done, nil
	}
	var messages, ids []string
	for _, p := range e.Pairs {
		if p.Key == 0 {
			messages = append(messages, p.Message)
		}
	}
	for _, w := range e.Wishes {
		messages, ids = append(messages, w.Answers), append(ids, w.UserID)
	}
	for _, m := range e.Moved {
		ids = append(ids, m.FromUser)
	}
	sent, err := u.Recipients(distinct(messages))
	if err != nil {
		return e, done, err
	}
	recipients := func(message, connection string) Numbers {
		of := Numbers{}
		for _, r := range sent[message] {
			if Tells(platform, connection, r.Over) {
				of[r.Key] = r.To
			}
		}
		return of
	}
	told := map[string]Numbers{}
	tell := func(p campaign.Pair) {
		if p.UserID == "" || told[p.UserID][p.Key] != "" {
			return
		}
		if told[p.UserID] == nil {
			told[p.UserID] = Numbers{}
		}
		told[p.UserID][p.Key] = p.To
		done.Pairs = append(done.Pairs, p)
	}
	for _, p := range e.Pairs {
		if p.Key != 0 {
			tell(p)
			continue
		}
		for p.Key, p.To = range recipients(p.Message, p.Connection) {
			tell(p)
		}
	}
	for _, w := range e.Wishes {
		for key, to := range recipients(w.Answers, w.Proof.Connection) {
			tell(campaign.Pair{UserID: w.UserID, Key: key, To: to, At: w.ReceivedAt})
		}
	}
	known, err := u.Numbers(distinct(ids))
	if err != nil {
		return e, done, err
	}
	var fresh []string
	for id, numbers := range told {
		fresh = append(fresh, id)
		if known[id] == nil {
			known[id] = Numbers{}
		}
		for key, to := range numbers {
			known[id][key] = to
		}
	}
	waiting, err := u.Waiting(distinct(fresh))
	if err != nil {
		return e, done, err
	}
	e.Suppressions, e.Lifted = slices.Clip(e.Suppressions), slices.Clip(e.Lifted)
	for _, w := range slices.Concat(e.Wishes, waiting) {
		numbers := recipients(w.Answers, w.Proof.Connection)
		if len(numbers) == 0 {
			numbers = known[w.UserID]
		}
		if len(numbers) == 0 || w.Resume && len(numbers) > 1 {
			done.Keep = append(done.Keep, w)
			continue
		}
		done.Done = append(done.Done, w)
		for key, to := range numbers {
			s := w.Suppression
			if s.Key, s.To = key, to; w.Resume {
				e.Lifted = append(e.Lifted, s)
			} else {
				e.Suppressions = append(e.Suppressions, s)
			}
		}
	}
	var moved []campaign.Move
	for _, m := range e.Moved {
		all := []campaign.Move{m}
		if byUser(m) {
			all = movesOf(m, known[m.FromUser])
		}
		if moved = append(moved, all...); len(all) == 0 {
			done.Lost++
		}
	}
	e.Moved = moved
	return e, done, nil
}

// Disown takes away what replies and opt-outs say of the message of ours that they answer, if it
// was not sent over their connection (Tells).
func Disown(e campaign.Events, u Users, platform []string) (campaign.Events, error) {
	var ids []string
	for _, r := range e.Replies {
		ids = append(ids, r.Answers)
	}
	for _, s := range e.Suppressions {
		ids = append(ids, s.Proof.Answers)
	}
	if ids = distinct(ids); len(platform) == 0 || len(ids) == 0 {
		return e, nil
	}
	sent, err := u.Recipients(ids)
	if err != nil {
		return e, err
	}
	others := func(message, connection string) bool {
		return slices.ContainsFunc(sent[message], func(r Recipient) bool { return !Tells(platform, connection, r.Over) })
	}
	e.Replies, e.Suppressions = slices.Clone(e.Replies), slices.Clone(e.Suppressions)
	for i := range e.Replies {
		if r := &e.Replies[i]; others(r.Answers, r.Connection) {
			r.Answers = ""
		}
	}
	for i := range e.Suppressions {
		if p := &e.Suppressions[i].Proof; others(p.Answers, p.Connection) {
			p.Answers = ""
		}
	}
	return e, nil
}

// movesOf returns the moves of a person whom the event names by a user id: from each number that
// the person had. The new number is often told as well, by the same event or by one before it.
func movesOf(m campaign.Move, had Numbers) (all []campaign.Move) {
	for _, m.From = range slices.Sorted(maps.Keys(had)) {
		if m.FromPhone = had[m.From]; recipients.Fold(m.From) != recipients.Fold(m.To) {
			all = append(all, m)
		}
	}
	return all
}

// byUser reports whether the person who moved is named by a user id alone.
func byUser(m campaign.Move) bool { return m.From == 0 && m.FromUser != "" }

// distinct returns the texts in order, without "" and repetitions.
func distinct(all []string) []string {
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.Sort(all)
	return slices.Compact(all)
}

// WishColumns are the columns that ScanWish reads.
const WishColumns = `w.user_id, w.answers, w.resume, w.scope, w.source, w.at, w.until, w.received, w.proof`

// ScanWish reads WishColumns.
func ScanWish(scan func(...any) error) (w campaign.Wish, err error) {
	var received int64
	w.Suppression, err = ScanSuppression(func(into ...any) error { // key, scope, until, at, dest, source, proof
		return scan(&w.UserID, &w.Answers, &w.Resume, into[1], into[5], into[3], into[2], &received, into[6])
	})
	w.ReceivedAt = TimeOf(received)
	return w, err
}

// WishHash is the hash of the message of ours that a wish is about; 0: none.
func WishHash(hash HashKey, w campaign.Wish) int64 {
	if w.Answers == "" {
		return 0
	}
	return hash.MessageHash(w.Answers)
}

// WishRow is a stored wish. Found says that its person may be known now.
type WishRow struct {
	ID    int64
	Found bool
	campaign.Wish
}

// ScanWishRow reads id, found and WishColumns.
func ScanWishRow(scan func(...any) error) (r WishRow, err error) {
	r.Wish, err = ScanWish(func(into ...any) error { return scan(append([]any{&r.ID, &r.Found}, into...)...) })
	return r, err
}

// Keys are the keys of numbers that an attribution stores.
func (a Attributed) Keys() (keys []int64) {
	for _, p := range a.Pairs {
		keys = append(keys, p.Key)
	}
	return keys
}
