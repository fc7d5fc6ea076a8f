package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"

	"golang.org/x/crypto/argon2"
)

// Cost of a digest: about 8 ms and 4 MiB, for the provider and for anyone who has the state and tests guesses. For
// the reason, see docs/adr/0016.
const (
	argonPasses  = 3
	argonMemory  = 4 << 10 // KiB
	argonThreads = 1
	// argonAtOnce limits the memory of digests that are computed at the same time.
	argonAtOnce = 4
)

// Sealer computes digests, and keeps those that were computed or confirmed until the end of the run. It stores no
// value. Its methods are safe for concurrent use.
type Sealer struct {
	key     [sha256.Size]byte // of this run; without it, the stored fingerprints reveal nothing
	known   sync.Map          // from the fingerprint of a seal, key and value to the digest
	working chan struct{}
}

// NewSealer returns a Sealer that has computed nothing.
func NewSealer() *Sealer {
	s := &Sealer{working: make(chan struct{}, argonAtOnce)}
	_, _ = rand.Read(s.key[:]) // never fails
	return s
}

// fingerprint identifies a value within the run.
func (s *Sealer) fingerprint(seal []byte, key string, value []byte) [sha256.Size]byte {
	return [sha256.Size]byte(hmacDigest(s.key[:], fmt.Sprintf("%x:%s", seal, key), value))
}

// digest returns the slow digest of the value of a key. The seal is the salt.
func (s *Sealer) digest(seal []byte, key string, value []byte) []byte {
	at := s.fingerprint(seal, key, value)
	if digest, ok := s.known.Load(at); ok {
		return digest.([]byte) //nolint:forcetypeassert,errcheck // nothing else is stored
	}
	s.working <- struct{}{}
	defer func() { <-s.working }()
	digest := argon2.IDKey(hmacDigest(seal, key, value), seal, argonPasses, argonMemory, argonThreads, sha256.Size)
	s.known.Store(at, digest)
	return digest
}

// hmacDigest returns the HMAC-SHA-256 of a key and its value.
func hmacDigest(seal []byte, key string, value []byte) []byte {
	mac := hmac.New(sha256.New, seal)
	fmt.Fprintf(mac, "%d:%s", len(key), key)
	mac.Write(value)
	return mac.Sum(nil)
}
