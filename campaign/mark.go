package campaign

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Marks writes and reads the marks of a ledger's attempts. A mark travels with a message and comes
// back in its statuses, if the connector carries it: it proves which attempt a message is of
// (docs/protocol.md#adoption). It has no personal data, and only who has the ledger's key can make
// one.
type Marks struct {
	ledger string
	key    [sha256.Size]byte
}

// NewMarks returns the Marks of the ledger with this id, and with this key of its own.
func NewMarks(ledger string, key []byte) Marks {
	return Marks{ledger: ledger, key: sha256.Sum256(append([]byte("campaignd mark 1 "), key...))}
}

// markVersion begins each mark of this form.
const markVersion = "c1"

// markTag is how many bytes of the HMAC a mark has.
const markTag = 8

// Make returns the mark of an attempt: version, ledger, run, seq, attempt and 8 bytes of an
// HMAC-SHA256 over them, joined by dots. It has at most 85 characters.
func (m Marks) Make(p Post) string {
	text := fmt.Sprintf("%s.%s.%d.%d.%d", markVersion, m.ledger, p.Run, p.Seq, p.Attempt)
	return text + "." + m.tag(text)
}

func (m Marks) tag(text string) string {
	h := hmac.New(sha256.New, m.key[:])
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)[:markTag])
}

// ForeignMark is what a mark proves that another program made, or forged: no run has the number 0,
// so no attempt fits it, and the status stays an orphan.
func ForeignMark() Post { return Post{Seq: 1, Attempt: 1} }

// Read returns the attempt of a mark. It reports false for a mark of another ledger, and for one
// that was forged.
func (m Marks) Read(mark string) (p Post, ok bool) {
	at := strings.LastIndexByte(mark, '.')
	if at < 0 || !hmac.Equal([]byte(mark[at+1:]), []byte(m.tag(mark[:at]))) {
		return Post{}, false
	}
	parts := strings.Split(mark[:at], ".")
	if len(parts) != 5 || parts[0] != markVersion || parts[1] != m.ledger {
		return Post{}, false
	}
	run, err1 := strconv.ParseInt(parts[2], 10, 64)
	seq, err2 := strconv.ParseInt(parts[3], 10, 64)
	attempt, err3 := strconv.Atoi(parts[4])
	if err1 != nil || err2 != nil || err3 != nil || run < 1 || seq < 0 || attempt < 1 {
		return Post{}, false
	}
	return Post{Run: RunNo(run), Seq: seq, Attempt: attempt}, true
}
