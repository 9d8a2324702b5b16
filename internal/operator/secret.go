package operator

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"

	"campaignd/campaign"
)

// A secret is cpd_ID_RANDOM followed by a checksum, so that a scanner finds it in a file and a
// mistyped one is refused without the ledger: 8, 64 and 8 characters of hex. A fast hash is right
// for 256 random bits: nobody can try them all.
const (
	secretPrefix = "cpd_"
	idBytes      = 4
	secretBytes  = 32
)

// newSecret draws a secret and its id. If there is an idempotency key, the id is derived from it
// and from by.
func newSecret(by, idempotency string) (secret, id string) {
	id = random(idBytes)
	if idempotency != "" {
		id = hashOf(by + "\x00" + idempotency)[:2*idBytes]
	}
	body := secretPrefix + id + "_" + random(secretBytes)
	return body + checksum(body), id
}

func checksum(s string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(s))) }

// hashOf is what the ledger keeps of a secret.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// SecretID returns the id of the key with a secret; false: it is none.
func SecretID(secret string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok || len(rest) != 2*idBytes+1+2*secretBytes+8 || rest[2*idBytes] != '_' {
		return "", false
	}
	body := secret[:len(secret)-8]
	return rest[:2*idBytes], checksum(body) == secret[len(secret)-8:]
}

// Opens reports whether the secret is that of the key, and the key is in force. The time that it
// takes does not tell how much of a wrong secret is right.
func Opens(k campaign.OperatorKey, secret string) bool {
	return subtle.ConstantTimeCompare([]byte(k.Hash), []byte(hashOf(secret))) == 1 && k.RevokedAt.IsZero()
}
