package secret

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Digests is the record of the values of one Secret. It recognizes values without storing them, by digests with a
// random seal that is stored next to them. Anyone who has both can test guesses of a value, each at the cost of a
// slow key derivation; see docs/adr/0016.
type Digests struct {
	Seal   []byte           `json:"seal,omitempty"`
	Values map[string]Entry `json:"values,omitempty"`

	sealer *Sealer
}

// FirstText is the text of the first revision of a key in the attribute keys.
const FirstText = "revision 1"

// Entry is the record of one value.
type Entry struct {
	Digest   []byte `json:"digest"`
	Revision int    `json:"revision"` // counts from 1
	// Text is the text of the revision in the attribute keys.
	Text string `json:"text"`
}

// WithSealer returns stored digests with a sealer. Those of a new Secret, which are empty, get a seal of 256 bits.
func (d Digests) WithSealer(sealer *Sealer) Digests {
	if len(d.Seal) == 0 {
		d = Digests{Seal: make([]byte, sha256.Size), Values: map[string]Entry{}}
		_, _ = rand.Read(d.Seal) // never fails
	}
	d.sealer = sealer
	return d
}

// Digest returns the digest of the value of a key: Argon2id of the HMAC-SHA-256 under the seal, with the seal as salt
// and the cost of this package.
func (d Digests) Digest(key string, value []byte) []byte {
	return d.sealer.digest(d.Seal, key, value)
}

// Confirm records that the values of a live Secret match the digests, so that they need not be digested.
func (d Digests) Confirm(data map[string][]byte) {
	for key, value := range data {
		if entry, known := d.Values[key]; known {
			d.sealer.known.Store(d.sealer.fingerprint(d.Seal, key, value), entry.Digest)
		}
	}
}

// Mask returns a copy of a Secret with digests instead of the values.
func (d Digests) Mask(obj *unstructured.Unstructured, data map[string][]byte) *unstructured.Unstructured {
	digests := make(map[string][]byte, len(data))
	for key, value := range data {
		digests[key] = d.Digest(key, value)
	}
	return withData(WithoutData(obj), digests, hex.EncodeToString)
}

// MaskApplied is Mask with the digests of the applied values.
func (d Digests) MaskApplied(obj *unstructured.Unstructured) *unstructured.Unstructured {
	digests := kind.EachValue(d.Values, func(entry Entry) []byte { return entry.Digest })
	return withData(WithoutData(obj), digests, hex.EncodeToString)
}

// Same reports whether the value matches its digest.
func (d Digests) Same(key string, value []byte) bool {
	entry, known := d.Values[key]
	return known && bytes.Equal(entry.Digest, d.Digest(key, value))
}

// Next returns the entry for a changed value, or for a new key. With stamp, its text contains the start of the
// digest. Then the text of a value that changes again between a plan and its apply differs, and Terraform rejects
// the apply.
func (d Digests) Next(key string, value []byte, stamp bool) Entry {
	entry := Entry{Digest: d.Digest(key, value), Revision: d.Values[key].Revision + 1}
	entry.Text = fmt.Sprintf("revision %d", entry.Revision)
	if stamp {
		entry.Text += fmt.Sprintf(" (%x)", entry.Digest[:4])
	}
	return entry
}
