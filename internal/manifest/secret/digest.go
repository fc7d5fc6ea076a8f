package secret

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Seal recognizes values without knowing them: by HMAC-SHA-256 with a random
// key of its own, which is kept beside the digests. A digest says nothing about
// a value to who lacks the key; to who has both, it can confirm a guess.
type Seal []byte

// NewSeal makes a seal with a new random key of 256 bits.
func NewSeal() Seal {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return key
}

// Digest is the digest of the value of a key.
func (s Seal) Digest(key string, value []byte) []byte {
	mac := hmac.New(sha256.New, s)
	fmt.Fprintf(mac, "%d:%s", len(key), key)
	mac.Write(value)
	return mac.Sum(nil)
}

// Veil is a copy of a Secret in which digests stand for the values.
func (s Seal) Veil(obj *unstructured.Unstructured, data map[string][]byte) *unstructured.Unstructured {
	out := WithoutData(obj)
	veiled := make(map[string]any, len(data))
	for key, value := range data {
		veiled[key] = hex.EncodeToString(s.Digest(key, value))
	}
	out.Object["data"] = veiled
	return out
}

// Ledger is what is remembered of the values of one Secret.
type Ledger struct {
	Seal   Seal             `json:"seal,omitempty"`
	Values map[string]Entry `json:"values,omitempty"`
}

// Entry is what is remembered of one value.
type Entry struct {
	Digest   []byte `json:"digest"`
	Revision int    `json:"revision"` // counts from 1
	// Text is how the revision stands in the attribute keys.
	Text string `json:"text"`
}

// NewLedger is the ledger of a new Secret.
func NewLedger() Ledger { return Ledger{Seal: NewSeal(), Values: map[string]Entry{}} }

// Same says whether the value is the one that is remembered.
func (l Ledger) Same(key string, value []byte) bool {
	entry, known := l.Values[key]
	return known && bytes.Equal(entry.Digest, l.Seal.Digest(key, value))
}

// First is the entry of the value of a key in a new Secret.
func (l Ledger) First(key string, value []byte) Entry {
	return Entry{Digest: l.Seal.Digest(key, value), Revision: 1, Text: "revision 1"}
}

// Next is the entry of a changed value, or of a new key. With stamp, its text
// has the begin of the digest: then a value that changes again between a plan
// and its apply makes another text, and Terraform refuses to apply it.
func (l Ledger) Next(key string, value []byte, stamp bool) Entry {
	entry := Entry{Digest: l.Seal.Digest(key, value), Revision: l.Values[key].Revision + 1}
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
