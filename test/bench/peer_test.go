package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPeerAppliesEachObjectInNamespacesOfItsOwn(t *testing.T) {
	t.Parallel()
	b, c, _ := prepared(blocks, 2)
	made := b.prototypes[prototypeKey{"volume", c.replicas}]
	made.objects = []prototypeObject{
		{text: `{"metadata":{"name":"t0-volume-t","namespace":"bench-prototypes"},"command":"${HOME} %{x}"}`},
		{text: `{"metadata":{"name":"t0-volume-t-2","namespace":"bench-prototypes"}}`},
	}
	dir := t.TempDir()
	if err := b.writePeer(c.ofPeer(), dir); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if got := strings.Count(text, `resource "kubectl_manifest"`); got != 4 || b.peerResources(c) != got {
		t.Errorf("%d resources, and %d expected of the apply; want 4", got, b.peerResources(c))
	}
	for _, part := range []string{
		`resource "kubectl_manifest" "volume-1-0"`, `\"namespace\":\"ns-peer-0\"`, `\"name\":\"volume-1-2\"`,
		`$${HOME} %%{x}`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the configuration does not contain %s:\n%s", part, text)
		}
	}
}
