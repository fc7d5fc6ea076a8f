package manifest_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestParseQuantityGivesCanonicalForm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0": "0", "1": "1", "01": "1", "+1": "1", "1.": "1", ".5": "500m", "0.5": "500m", "1000m": "1",
		"1500m": "1500m",
		"4Gi":   "4Gi", "4096Mi": "4Gi", "0.5Ti": "512Gi", "4G": "4G", "1000000": "1M", "1e3": "1e3", "1E": "1E",
		"100k": "100k",
		"1n":   "1n", "62.5Ki": "64k", "7Ei": "7Ei", "1e-9": "1e-9",
	} {
		q, err := manifest.ParseQuantity(in)
		if err != nil || q.String() != want {
			t.Errorf("%q is %q (error %v), want %q", in, q.String(), err, want)
		}
	}
}

func TestParseQuantityRejectsAndSuggests(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		"":                      "is empty",
		" ":                     "is empty",
		"4 Gi":                  `use "4Gi"`,
		" 4Gi":                  `use "4Gi"`,
		"4Gi\n":                 `use "4Gi"`,
		"-1":                    "must not be negative",
		"-0.5Gi":                "must not be negative",
		"4gb":                   `did you mean "4G" (powers of 1000) or "4Gi" (powers of 1024)?`,
		"4GB":                   `did you mean "4G" (powers of 1000) or "4Gi"`,
		"4g":                    `did you mean "4G" (powers of 1000) or "4Gi"`,
		"4gi":                   `did you mean "4Gi"? Units are case-sensitive`,
		"4mi":                   `did you mean "4Mi"? Units are case-sensitive`,
		"4MI":                   `did you mean "4Mi"?`,
		"4GiB":                  `did you mean "4Gi"?`,
		"4gib":                  `did you mean "4Gi"?`,
		"1K":                    `did you mean "1k" (powers of 1000) or "1Ki"`,
		"1kb":                   `did you mean "1k" (powers of 1000) or "1Ki"`,
		"1.5tb":                 `did you mean "1.5T" (powers of 1000) or "1.5Ti"`,
		"2 cores":               `"cores" is not a unit: use one of n, u, m, k`,
		"4 GB":                  `did you mean "4G" (powers of 1000) or "4Gi"`,
		"2cores":                `"cores" is not a unit: use one of n, u, m, k`,
		"4b":                    `"b" is not a unit`,
		"4x":                    `"x" is not a unit`,
		"1,5":                   "at most one decimal point and no other separators",
		"1.2.3":                 "at most one decimal point",
		"Gi":                    "must start with a number",
		"lots":                  "must start with a number",
		".":                     "must start with a number",
		"--1":                   "must start with a number",
		"0x10":                  `"x10" is not a unit`,
		"1e":                    `"e" is not a unit`,
		"1e2147483647":          "exponent is too large",
		"1e-999999999":          "exponent is too large",
		"1E+000000000099999":    "exponent is too large",
		"16Ei":                  "less than 2^63-1",
		"1e19":                  "less than 2^63-1",
		"9223372036854775808":   "less than 2^63-1",
		strings.Repeat("9", 99): "has 99 characters",
	} {
		q, err := manifest.ParseQuantity(in)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is %s with error %v, want one that says %q", in, q.String(), err, says)
		}
	}
}

func TestParseDurationReads(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "90": 90 * time.Second, "900": 15 * time.Minute, "007": 7 * time.Second,
		"90s": 90 * time.Second, "1m30s": 90 * time.Second, "15m": 15 * time.Minute, "1.5h": 90 * time.Minute,
		"1d": 24 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour, ".5d1s": 12*time.Hour + time.Second,
		"1d0.5h": 24*time.Hour + 30*time.Minute, "250ms": 250 * time.Millisecond,
		"2562047h47m16.854775807s": math.MaxInt64,
	} {
		if got, err := manifest.ParseDuration(in); err != nil || got != want {
			t.Errorf("%q is %s (error %v), want %s", in, got, err, want)
		}
	}
}

func TestParseDurationRejects(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		"":                       "is empty",
		"1 h":                    `use "1h"`,
		" 90s":                   `use "90s"`,
		"-1":                     "must not be negative",
		"-90s":                   "must not be negative",
		"+90s":                   "is not a duration",
		"1.5":                    "is not a duration",
		"ten minutes":            `is "ten minutes", which is not a duration: use numbers with units`,
		" ":                      "is not a duration",
		"forever":                "is not a duration",
		"d":                      "is not a duration",
		".":                      "is not a duration",
		".d":                     "is not a duration",
		"1w":                     "is not a duration",
		"12h1d":                  "is not a duration",
		"1d2d":                   "is not a duration",
		"1d30":                   "is not a duration",
		"1d-1h":                  "is not a duration",
		"1H":                     "is not a duration",
		"1e3s":                   "is not a duration",
		"9223372037":             "less than 292 years",
		"99999999999999999999":   "less than 292 years",
		"2562048h":               "less than 292 years",
		"106752d":                "less than 292 years",
		"106751d24h":             "less than 292 years",
		"99999999999999999999d":  "less than 292 years",
		strings.Repeat("1m", 50): "has 100 characters",
	} {
		if got, err := manifest.ParseDuration(in); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is %s with error %v, want one that says %q", in, got, err, says)
		}
	}
}

func TestParseGPUTypeReads(t *testing.T) {
	t.Parallel()
	const product = "nvidia.com/gpu.product"
	for in, want := range map[string]manifest.NodeLabel{
		"L4":                    {product, "L4"},
		" L4 ":                  {product, "L4"},
		"NVIDIA-H100-80GB-HBM3": {product, "NVIDIA-H100-80GB-HBM3"},
		"cloud.google.com/gke-accelerator: nvidia-l4": {"cloud.google.com/gke-accelerator", "nvidia-l4"},
		"cloud.google.com/gke-accelerator:nvidia-l4":  {"cloud.google.com/gke-accelerator", "nvidia-l4"},
		" gpu : a100 ": {"gpu", "a100"},
	} {
		if label, err := manifest.ParseGPUType(in, ""); err != nil || label != want {
			t.Errorf("%q is %q (error %v), want %q", in, label, err, want)
		}
	}
}

func TestParseGPUTypeUsesTheLabelOfTheProvider(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]manifest.NodeLabel{
		"l4":      {"gpu-name", "l4"},
		"gpu: l4": {"gpu", "l4"},
	} {
		if label, err := manifest.ParseGPUType(in, "gpu-name"); err != nil || label != want {
			t.Errorf("%q is %q (error %v), want %q", in, label, err, want)
		}
	}
}

func TestParseGPUTypeRejects(t *testing.T) {
	t.Parallel()
	for in, says := range map[string]string{
		"":                      "is empty",
		"  ":                    "is empty",
		"NVIDIA L4":             `did you mean "NVIDIA-L4"?`,
		"gpu: tesla  t4":        `did you mean "tesla-t4"?`,
		"gpu:":                  "contains the label gpu without a value",
		": L4":                  `"" is not the key of a label`,
		"a/b/c: x":              `"a/b/c" is not the key of a label`,
		"two words: x":          `"two words" is not the key of a label`,
		"a:b:c":                 `"b:c" is not the value of a label`,
		"L4!":                   `"L4!" is not the value of a label`,
		"-L4":                   `"-L4" is not the value of a label`,
		strings.Repeat("x", 64): "is not the value of a label",
	} {
		if label, err := manifest.ParseGPUType(in, ""); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is %q with error %v, want one that says %q", in, label, err, says)
		}
	}
}

func FuzzParseQuantity(f *testing.F) {
	for _, seed := range []string{"", "1", "-1", "0.5", "4gb", "4096Mi", "1e3", "1E99", "16Ei", "1e2147483647", "1 Gi",
		"1.2.3", "0.0001n", "62.5Ki"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := manifest.ParseQuantity(s)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "is ") {
				t.Errorf("%q: error %q is no sentence without its subject", s, err)
			}
			return
		}
		if q.Sign() < 0 {
			t.Errorf("%q is negative", s)
		}
		if kubernetes, err := resource.ParseQuantity(s); err != nil || q.Cmp(kubernetes) != 0 {
			t.Errorf("%q is %s, but %s to Kubernetes (error %v)", s, q.String(), kubernetes.String(), err)
		}
		again, err := manifest.ParseQuantity(q.String())
		if err != nil || again.Cmp(q) != 0 || again.String() != q.String() {
			t.Errorf("%q prints as %q, which is %q (error %v)", s, q.String(), again.String(), err)
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"", "90", "-1", "1m30s", "1d12h", "0.5d", "1d2d", "106751d24h",
		"2562047h47m16.854775807s", "1µs", "1 h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := manifest.ParseDuration(s)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "is ") {
				t.Errorf("%q: error %q is no sentence without its subject", s, err)
			}
			return
		}
		if d < 0 {
			t.Errorf("%q is %s, which is negative", s, d)
		}
		if again, err := manifest.ParseDuration(d.String()); err != nil || again != d {
			t.Errorf("%q prints as %q, which is %s (error %v)", s, d, again, err)
		}
	})
}

func FuzzParseGPUType(f *testing.F) {
	for _, seed := range []string{"", "L4", "NVIDIA L4", "key: value", "a/b:c", "a:b:c", ":", "\x00", "é:x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		label, err := manifest.ParseGPUType(s, "")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "is ") {
				t.Errorf("%q: error %q is no sentence without its subject", s, err)
			}
			return
		}
		again, err := manifest.ParseGPUType(label.Key+": "+label.Value, "")
		if err != nil || again != label {
			t.Errorf("%q is %q, which is %q (error %v)", s, label, again, err)
		}
	})
}
