package secret

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Ledger is what is remembered of the values of one Secret. It recognizes values without knowing them: by digests under a
// random seal, which is kept beside them. Whoever has both can test guesses of a value, each at the cost of a slow key
// derivation: see docs/adr/0016.
type Ledger struct {
	Seal   []byte           `json:"seal,omitempty"`
	Values map[string]Entry `json:"values,omitempty"`
	// Method is how digests are made: "" for HMAC-SHA-256, as the first version of the provider did, else [MethodArgon2id].
	Method string `json:"method,omitempty"`

	sealer *Sealer
}

// MethodArgon2id is Argon2id of the HMAC-SHA-256 under the seal, with the seal as salt and the cost of this package.
const MethodArgon2id = "argon2id"

// FirstText is how the first revision of a key stands in the attribute keys.
const FirstText = "revision 1"

// Entry is what is remembered of one value.
type Entry struct {
	Digest   []byte `json:"digest"`
	Revision int    `json:"revision"` // counts from 1
	// Text is how the revision stands in the attribute keys.
	Text string `json:"text"`
}

// NewLedger is the ledger of a new Secret, with a seal of 256 bits.
func NewLedger(sealer *Sealer) Ledger {
	seal := make([]byte, sha256.Size)
	_, _ = rand.Read(seal) // never fails
	return Ledger{Seal: seal, Method: MethodArgon2id, Values: map[string]Entry{}, sealer: sealer}
}

// With is the ledger, as it was stored, with a sealer.
func (l Ledger) With(sealer *Sealer) Ledger {
	l.sealer = sealer
	return l
}

// Digest is the digest of the value of a key.
func (l Ledger) Digest(key string, value []byte) []byte {
	if l.Method == "" {
		return quick(l.Seal, key, value)
	}
	return l.sealer.digest(l.Seal, key, value)
}

// Learn notes that the values of a live Secret are those that are remembered, so that they need not be digested.
func (l Ledger) Learn(data map[string][]byte) {
	for key, value := range data {
		if entry, known := l.Values[key]; known && l.Method != "" {
			l.sealer.learn(l.Seal, key, value, entry.Digest)
		}
	}
}

// Renewed is a ledger of the same values, which data has, with a new seal and the present method.
func (l Ledger) Renewed(data map[string][]byte) Ledger {
	next := NewLedger(l.sealer)
	for key, entry := range l.Values {
		entry.Digest = next.Digest(key, data[key])
		next.Values[key] = entry
	}
	return next
}

// Veil is a copy of a Secret in which digests stand for the values.
func (l Ledger) Veil(obj *unstructured.Unstructured, data map[string][]byte) *unstructured.Unstructured {
	out := WithoutData(obj)
	veiled := make(map[string]any, len(data))
	for key, value := range data {
		veiled[key] = hex.EncodeToString(l.Digest(key, value))
	}
	out.Object["data"] = veiled
	return out
}

// Same says whether the value is the one that is remembered.
func (l Ledger) Same(key string, value []byte) bool {
	entry, known := l.Values[key]
	return known && bytes.Equal(entry.Digest, l.Digest(key, value))
}

// First is the entry of the value of a key in a new Secret.
func (l Ledger) First(key string, value []byte) Entry {
	return Entry{Digest: l.Digest(key, value), Revision: 1, Text: FirstText}
}

// Next is the entry of a changed value, or of a new key. With stamp, its text
// has the begin of the digest: then a value that changes again between a plan
// and its apply makes another text, and Terraform refuses to apply it.
func (l Ledger) Next(key string, value []byte, stamp bool) Entry {
	entry := Entry{Digest: l.Digest(key, value), Revision: l.Values[key].Revision + 1}
	entry.Text = fmt.Sprintf("revision %d", entry.Revision)
	if stamp {
		entry.Text += fmt.Sprintf(" (%x)", entry.Digest[:4])
	}
	return entry
}

// Recall is a copy of the object with the digests of the values that were
// applied, as Veil makes it of a live one.
func (l Ledger) Recall(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := WithoutData(obj)
	veiled := make(map[string]any, len(l.Values))
	for key, entry := range l.Values {
		veiled[key] = hex.EncodeToString(entry.Digest)
	}
	out.Object["data"] = veiled
	return out
}
