package secret

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Digests is the record of the values of one Secret. It recognizes values without storing them, by digests with a
// random seal that is stored next to them. Anyone who has both can test guesses of a value, each at the cost of a
// slow key derivation; see docs/adr/0016.
type Digests struct {
	Seal   []byte           `json:"seal,omitempty"`
	Values map[string]Entry `json:"values,omitempty"`
	// Method is the algorithm of the digests: "" for HMAC-SHA-256, as in the first version of the provider, or
	// [MethodArgon2id].
	Method string `json:"method,omitempty"`

	sealer *Sealer
}

// MethodArgon2id is Argon2id of the HMAC-SHA-256 under the seal, with the seal as salt and the cost of this package.
const MethodArgon2id = "argon2id"

// FirstText is the text of the first revision of a key in the attribute keys.
const FirstText = "revision 1"

// Entry is the record of one value.
type Entry struct {
	Digest   []byte `json:"digest"`
	Revision int    `json:"revision"` // counts from 1
	// Text is the text of the revision in the attribute keys.
	Text string `json:"text"`
}

// NewDigests returns the digests of a new Secret, with a seal of 256 bits.
func NewDigests(sealer *Sealer) Digests {
	seal := make([]byte, sha256.Size)
	_, _ = rand.Read(seal) // never fails
	return Digests{Seal: seal, Method: MethodArgon2id, Values: map[string]Entry{}, sealer: sealer}
}

// WithSealer returns stored digests with a sealer.
func (l Digests) WithSealer(sealer *Sealer) Digests {
	l.sealer = sealer
	return l
}

// Digest returns the digest of the value of a key.
func (l Digests) Digest(key string, value []byte) []byte {
	if l.Method == "" {
		return hmacDigest(l.Seal, key, value)
	}
	return l.sealer.digest(l.Seal, key, value)
}

// Confirm records that the values of a live Secret match the digests, so that they need not be digested.
func (l Digests) Confirm(data map[string][]byte) {
	for key, value := range data {
		if entry, known := l.Values[key]; known && l.Method != "" {
			l.sealer.confirm(l.Seal, key, value, entry.Digest)
		}
	}
}

// Renewed returns digests of the same values, which data contains, with a new seal and the current method.
func (l Digests) Renewed(data map[string][]byte) Digests {
	next := NewDigests(l.sealer)
	for key, entry := range l.Values {
		entry.Digest = next.Digest(key, data[key])
		next.Values[key] = entry
	}
	return next
}

// Mask returns a copy of a Secret with digests instead of the values.
func (l Digests) Mask(obj *unstructured.Unstructured, data map[string][]byte) *unstructured.Unstructured {
	out := WithoutData(obj)
	masked := make(map[string]any, len(data))
	for key, value := range data {
		masked[key] = hex.EncodeToString(l.Digest(key, value))
	}
	out.Object["data"] = masked
	return out
}

// Same reports whether the value matches its digest.
func (l Digests) Same(key string, value []byte) bool {
	entry, known := l.Values[key]
	return known && bytes.Equal(entry.Digest, l.Digest(key, value))
}

// First returns the entry for the value of a key in a new Secret.
func (l Digests) First(key string, value []byte) Entry {
	return Entry{Digest: l.Digest(key, value), Revision: 1, Text: FirstText}
}

// Next returns the entry for a changed value, or for a new key. With stamp, its text contains the start of the
// digest. Then the text of a value that changes again between a plan and its apply differs, and Terraform rejects
// the apply.
func (l Digests) Next(key string, value []byte, stamp bool) Entry {
	entry := Entry{Digest: l.Digest(key, value), Revision: l.Values[key].Revision + 1}
	entry.Text = fmt.Sprintf("revision %d", entry.Revision)
	if stamp {
		entry.Text += fmt.Sprintf(" (%x)", entry.Digest[:4])
	}
	return entry
}

// MaskApplied returns a copy of the object with the digests of the applied values, in the form of Mask.
func (l Digests) MaskApplied(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := WithoutData(obj)
	masked := make(map[string]any, len(l.Values))
	for key, entry := range l.Values {
		masked[key] = hex.EncodeToString(entry.Digest)
	}
	out.Object["data"] = masked
	return out
}
