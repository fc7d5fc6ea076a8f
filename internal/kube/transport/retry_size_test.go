package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// endless returns the same byte again and again.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// Genuine objects are far from the limit of values.
func TestNumberOfValuesOfGenuineObjects(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../fields/testdata/live/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			t.Fatal(err)
		}
		if size := compact.Len() / values(compact.Bytes()); size < valueSize*5/4 {
			t.Errorf("%s has %d bytes for each value", file, size)
		}
	}
	if got := values([]byte(`{"a,[{\",":[1,{},"\\"],"b":[]}`)); got != 7 {
		t.Errorf("%d values, want 7", got)
	}
}

func TestSizeOfMessagesOfAWatchIsLimited(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	line := append(bytes.Repeat([]byte{'a'}, limit), '\n') // its end is no part of the message
	for name, test := range map[string]struct {
		body   io.Reader
		limit  int
		failed bool
	}{
		"messages of the maximum size": {io.LimitReader(io.MultiReader(bytes.NewReader(line), bytes.NewReader(line)),
			1<<40), limit, false},
		"a message without an end":       {endless{}, limit, true},
		"a line of a log without an end": {io.LimitReader(endless{}, 3*limit), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := &streamBody{ReadCloser: io.NopCloser(test.body), limit: test.limit, stop: func(error) {},
				ended: func() {}}
			_, err := io.Copy(io.Discard, body)
			var large *tooLargeError
			if errors.As(err, &large) != test.failed {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
