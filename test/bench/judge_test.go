package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/bench/answer"
)

// TestBenchRejectsAProviderThatPlansLess runs the echo provider as both subjects, one of them with a single
// resource.
func TestBenchRejectsAProviderThatPlansLess(t *testing.T) {
	if os.Getenv("KT_BENCH") == "" {
		t.Skip("KT_BENCH is not set: it compares times, so only `make bench` runs it")
	}
	t.Parallel()
	const size = 500
	b, c, objects := prepared(blocks, size)
	b.dir, b.cli, b.report = t.TempDir(), os.Getenv("TF_ACC_TERRAFORM_PATH"), &report{}
	made := b.prototypes[prototypeKey{"volume", 0}]
	made.provider = fmt.Sprintf("provider[%q]", os.Getenv("TF_ACC_PROVIDER_HOST")+"/ktdev/kt")
	made.instance["attributes"] = []byte(`{"id":"bench-prototypes/t0-volume-t","uid":"prototype-uid",
		"name":"t0-volume-t","namespace":"bench-prototypes","labels":{"generation":"generation-first"},
		"size":"1Gi","mount_path":"/data","access_mode":"ReadWriteOnce"}`)
	if err := answer.Write(b.answers(), map[string]answer.Answer{"volume": made.Answer}); err != nil {
		t.Fatal(err)
	}
	w := &work{bench: b, config: c}
	for of, n := range map[subject]int{echo: size, kt: 1} {
		binary := filepath.Join(b.dir, string(of), "provider")
		if err := goBuild(t.Context(), binary, "./test/bench/echo"); err != nil {
			t.Fatal(err)
		}
		if err := b.install(t.Context(), of, "ktdev/kt"); err != nil {
			t.Fatal(err)
		}
		c.size = n
		if err := c.write(w.dirOf(of)); err != nil {
			t.Fatal(err)
		}
		if err := b.writeState(c, objects, w.dirOf(of)); err != nil {
			t.Fatal(err)
		}
		used, err := w.run(t.Context(), w.command(of, "No changes.", "plan", "-detailed-exitcode"))
		if err != nil {
			t.Fatal(err)
		}
		w.record(plan, of, used)
	}
	b.report.results = w.results
	want := regexp.MustCompile(`^500 volumes, plan without changes: kt needs 0\.[0-4]`) // noise is less
	if err := b.report.judge(); err == nil || !want.MatchString(err.Error()) {
		t.Errorf("the error is %v", err)
	}
}
