package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestThePageHoldsEverySentenceOnce(t *testing.T) {
	dir := t.TempDir()
	code := `package p

import "some/long path/of a module"

type T struct {
	F string ` + "`json:\"some words in a tag\"`" + `
}

const word = "short text"

var script = ` + "`#!/bin/sh\nif true of it; then`" + `

func f(name string) error {
	log("Cannot read the object " + name + ", which is needed.")
	return errorf("%s: the request of %q failed:"+
		" %w", name)
}
`
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p_test.go"), []byte("package p\n\nvar s = \"A sentence of a test.\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var out bytes.Buffer
	if err := run(&out, []string{"."}); err != nil {
		t.Fatal(err)
	}
	const want = `# Messages

## p.go

<!-- p.go:15 -->
Cannot read the object …, which is needed.

<!-- p.go:16 -->
…: the request of … failed: …
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}
