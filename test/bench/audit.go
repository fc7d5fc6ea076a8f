package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"
)

// auditLog reads the audit log of the API server.
type auditLog struct {
	path   string
	offset int64
	times  map[subject][]time.Time // when the requests of a provider were received
}

func newAuditLog(path string) *auditLog {
	return &auditLog{path: path, times: map[subject][]time.Time{}}
}

// read reads the lines that were added since the last call. A request is logged when it
// has ended, which for a watch is shortly after the end of the provider.
func (a *auditLog) read() (err error) {
	file, err := os.Open(a.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	a.offset += int64(len(data))
	for line := range bytes.Lines(data) {
		from, ok := senderOf(line)
		if !ok {
			continue
		}
		_, rest, _ := bytes.Cut(line, []byte(`"requestReceivedTimestamp":"`))
		text, _, _ := bytes.Cut(rest, []byte(`"`))
		received, err := time.Parse(time.RFC3339Nano, string(text))
		if err != nil {
			return err
		}
		a.times[from] = append(a.times[from], received)
	}
	return nil
}

// senderOf returns which provider sent the request of a line.
func senderOf(line []byte) (subject, bool) {
	for name, agent := range map[subject]string{kt: "terraform-provider-kt/", peer: "HashiCorp/"} {
		if bytes.Contains(line, []byte(`"userAgent":"`+agent)) {
			return name, true
		}
	}
	return "", false
}

// between returns the number of requests of a provider that were received in an interval.
func (a *auditLog) between(of subject, start, end time.Time) int {
	n := 0
	for _, received := range a.times[of] {
		if !received.Before(start) && !received.After(end) {
			n++
		}
	}
	return n
}
