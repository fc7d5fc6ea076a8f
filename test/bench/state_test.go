package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

// prepared returns a bench with the prototype of a volume, a case, and the objects of its resources.
func prepared(s shape, size int) (*bench, config, [][]created) {
	c := config{benchCase: benchCase{family: families()[3], shape: s, size: size, scenarios: []scenario{plan}},
		prefix: "ns", generation: answer.First}
	b := &bench{prototypes: map[prototypeKey]*prototype{{"volume", c.replicas}: {
		Answer: answer.Answer{Name: "t0-volume-t", Namespace: prototypeNamespace},
		stored: stored{
			resource: "kt_volume", provider: "kt",
			instance: map[string]json.RawMessage{
				"schema_version": []byte("0"),
				"attributes":     []byte(`{"id":"bench-prototypes/t0-volume-t","uid":"prototype-uid"}`),
				"private":        []byte(`""`),
			},
			private: map[string][]byte{"matched": []byte(`{"matched":"prototype-uid/5"}`)},
			objects: []prototypeObject{{uid: "prototype-uid"}},
		},
	}}}
	objects := make([][]created, size)
	for i := range objects {
		objects[i] = []created{{uid: fmt.Sprintf("uid-%d", i), version: fmt.Sprint(100 + i)}}
	}
	return b, c, objects
}

func TestPreparedStateHasTheObjectsOfTheCluster(t *testing.T) {
	t.Parallel()
	b, c, objects := prepared(blocks, 3)
	state, err := b.prepareState(c, objects)
	if err != nil {
		t.Fatal(err)
	}
	if len(state.Resources) != 3 || state.Resources[2].Name != "volume-2" {
		t.Fatalf("the resources are %+v", state.Resources)
	}
	instance := state.Resources[2].Instances[0]
	if got, want := string(instance["attributes"]), `{"id":"ns-0/volume-2","uid":"uid-2"}`; got != want {
		t.Errorf("the attributes are %s, want %s", got, want)
	}
	var encoded []byte
	if err := json.Unmarshal(instance["private"], &encoded); err != nil {
		t.Fatal(err)
	}
	var private map[string][]byte
	if err := json.Unmarshal(encoded, &private); err != nil {
		t.Fatal(err)
	}
	if got, want := string(private["matched"]), `{"matched":"uid-2/102"}`; got != want {
		t.Errorf("the private state is %s, want %s", got, want)
	}
}

func TestPreparedStateHasTheKeysOfItsShape(t *testing.T) {
	t.Parallel()
	for s, want := range map[shape]string{count: "1", forEach: `"volume-1"`} {
		b, c, objects := prepared(s, 2)
		state, err := b.prepareState(c, objects)
		if err != nil {
			t.Fatal(err)
		}
		if len(state.Resources) != 1 || len(state.Resources[0].Instances) != 2 {
			t.Fatalf("%s: the resources are %+v", s, state.Resources)
		}
		if got := string(state.Resources[0].Instances[1]["index_key"]); got != want {
			t.Errorf("%s: the second key is %s, want %s", s, got, want)
		}
	}
}

func TestRequestsAreThoseOfTheProviderInAnInterval(t *testing.T) {
	t.Parallel()
	const line = `{"userAgent":"%s","requestReceivedTimestamp":"2026-01-01T00:00:0%d.5Z"}`
	path := filepath.Join(t.TempDir(), "audit.log")
	log := newAuditLog(path)
	lines := []string{
		fmt.Sprintf(line, "terraform-provider-kt/dev", 1), fmt.Sprintf(line, "kubectl/v1", 2),
		fmt.Sprintf(line, "terraform-provider-kt/dev", 3), fmt.Sprintf(line, "terraform-provider-kt/dev", 7),
		fmt.Sprintf(line, "HashiCorp/1.0 Terraform/1.11.4", 4), fmt.Sprintf(line, "HashiCorp/1.0 Terraform/1.11.4", 5),
		fmt.Sprintf(line, "terraform-provider-kt/dev", 8),
	}
	text := strings.Join(lines, "\n")
	for _, part := range []string{text[:len(text)-20], text + "\n"} { // the last line is not complete at first
		if err := os.WriteFile(path, []byte(part), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := log.read(); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC)
	for _, test := range []struct {
		of       subject
		duration time.Duration
		want     int
	}{{kt, 4 * time.Second, 1}, {kt, time.Minute, 3}, {peer, time.Minute, 2}, {echo, time.Minute, 0}} {
		if got := log.between(test.of, start, start.Add(test.duration)); got != test.want {
			t.Errorf("%d requests of %s in %s, want %d", got, test.of, test.duration, test.want)
		}
	}
}
