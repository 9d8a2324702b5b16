package value

import (
	"regexp"
	"strings"
	"time"
)

// crockford is the alphabet of a ULID (https://github.com/ulid/spec).
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// ULIDForm is the form of an id.
var ULIDForm = regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`)

// putDigits writes the low 5*len(to) bits of n.
func putDigits(to []byte, n uint64) {
	for i := len(to) - 1; i >= 0; i-- {
		to[i] = crockford[n&31]
		n >>= 5
	}
}

// DigitsOf reads what putDigits wrote.
func DigitsOf(text string) (n uint64) {
	for i := range len(text) {
		n = n<<5 | uint64(max(strings.IndexByte(crockford, text[i]), 0))
	}
	return n
}

// ULID is the id of an instant with 30 bits of noise and 50 bits of a number.
func ULID(at time.Time, noise, number uint64) string {
	var id [26]byte
	putDigits(id[:10], uint64(at.UnixMilli()))
	putDigits(id[10:16], noise)
	putDigits(id[16:], number)
	return string(id[:])
}

// NumberOf returns the number of an id that ulid made.
func NumberOf(id string) uint64 { return DigitsOf(id[16:]) }
