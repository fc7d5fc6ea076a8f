package kubelet

import "testing"

func TestFaultOf(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]fault{
		"broken.invalid/pull":             faultPull,
		"broken.invalid/crash:1":          faultCrash,
		"broken.invalid/crash/api:1":      faultCrash,
		"broken.invalid/oom@sha256:abc":   faultOOM,
		"broken.invalid/config":           faultConfig,
		"broken.invalid/heals:latest":     faultHeals,
		"broken.invalid/slow":             faultSlow,
		"broken.invalid/never":            faultNever,
		"broken.invalid/crashes":          faultPull, // an unknown name
		"broken.invalid/":                 faultPull,
		"broken.invalid":                  faultNone, // image of this name on Docker Hub
		"nginx":                           faultNone,
		"":                                faultNone,
		"registry/broken.invalid/crash:1": faultNone,
	} {
		if got := faultOf(image); got != want {
			t.Errorf("faultOf(%q) = %q; want %q", image, got, want)
		}
	}
}

func FuzzFaultOf(f *testing.F) {
	for _, image := range []string{"broken.invalid/crash:1", "broken.invalid/", "broken.invalid/:@/", "nginx"} {
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, image string) {
		// Any name can be simulated, and the kubelet and KWOK agree on which of them handles the pod.
		pod := podOf(image)
		if (faultOf(image) != faultNone) != Handles(pod) {
			t.Fatalf("%q: fault %q, handled %t", image, faultOf(image), Handles(pod))
		}
		syncOnce(t, pod, none{}, epoch)
	})
}
