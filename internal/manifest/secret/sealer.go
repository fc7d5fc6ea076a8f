package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"

	"golang.org/x/crypto/argon2"
)

// Cost of a digest: about 8 ms and 4 MiB, for the provider as for whoever has the state and tests a guess. Why it is not
// more: docs/adr/0016.
const (
	argonPasses  = 3
	argonMemory  = 4 << 10 // KiB
	argonThreads = 1
	// argonAtOnce bounds the memory of digests that are computed at the same time.
	argonAtOnce = 4
)

// Sealer computes digests, and each only once: what a run has computed, or found to be known, it keeps for the rest of
// the run. It keeps no value. All methods may be called at the same time.
type Sealer struct {
	key     [sha256.Size]byte // of this run, so that what is kept in memory tells nothing without it
	known   sync.Map          // of the fingerprint of a seal, key and value to the digest
	working chan struct{}
}

// NewSealer returns a Sealer that has computed nothing.
func NewSealer() *Sealer {
	s := &Sealer{working: make(chan struct{}, argonAtOnce)}
	_, _ = rand.Read(s.key[:]) // never fails
	return s
}

// fingerprint tells values apart within the run.
func (s *Sealer) fingerprint(seal []byte, key string, value []byte) [sha256.Size]byte {
	return [sha256.Size]byte(quick(s.key[:], fmt.Sprintf("%x:%s", seal, key), value))
}

// digest is the slow digest of the value of a key under a seal, its salt.
func (s *Sealer) digest(seal []byte, key string, value []byte) []byte {
	at := s.fingerprint(seal, key, value)
	if digest, ok := s.known.Load(at); ok {
		return digest.([]byte) //nolint:forcetypeassert,errcheck // nothing else is stored
	}
	s.working <- struct{}{}
	defer func() { <-s.working }()
	digest := argon2.IDKey(quick(seal, key, value), seal, argonPasses, argonMemory, argonThreads, sha256.Size)
	s.known.Store(at, digest)
	return digest
}

// learn notes the digest of a value, which is known without computing it.
func (s *Sealer) learn(seal []byte, key string, value, digest []byte) {
	s.known.Store(s.fingerprint(seal, key, value), digest)
}

// quick is the HMAC-SHA-256 of a key and its value.
func quick(seal []byte, key string, value []byte) []byte {
	mac := hmac.New(sha256.New, seal)
	fmt.Fprintf(mac, "%d:%s", len(key), key)
	mac.Write(value)
	return mac.Sum(nil)
}
