package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// target is one fault at one request of one step.
type target struct {
	step    step
	request string
	kind    proxy.Kind
}

func (t target) String() string { return fmt.Sprintf("%s|%s|%s", t.step, t.request, t.kind) }

func parseTarget(text string) (target, error) {
	parts := strings.Split(text, "|")
	if len(parts) != 3 {
		return target{}, fmt.Errorf("%q is not STEP|REQUEST|KIND", text)
	}
	kinds, err := proxy.ParseKinds(parts[2])
	if err != nil || len(kinds) != 1 {
		return target{}, fmt.Errorf("%q does not end with one kind of fault: %w", text, err)
	}
	return target{step: step(parts[0]), request: parts[1], kind: kinds[0]}, nil
}

// plan injects the fault once, at the request.
func (t target) plan() proxy.Plan {
	return func(r proxy.Request) *proxy.Fault {
		if r.String() != t.request {
			return nil
		}
		return faultAt(t.kind, hash(0, t.step, r))
	}
}

// targets lists each request of the steps with each kind of fault that applies to it.
func targets(requests map[step]map[string]proxy.Request, kinds []proxy.Kind) map[step][]target {
	out := map[step][]target{}
	for at, seen := range requests {
		for name, request := range seen {
			for _, kind := range kinds {
				if kind.AppliesTo(request) {
					out[at] = append(out[at], target{step: at, request: name, kind: kind})
				}
			}
		}
	}
	return out
}

// probeEvery is the share of the exhaustive cycles that look for drift that is not detected.
const probeEvery = 4

// exhaustive combines targets into cycles with one fault in each step. Slow faults share cycles only with each
// other. The order is random by seed, so that a run that ends early covers all kinds.
func exhaustive(all map[step][]target, seed int64, sc scenario) []item {
	var items []item
	for _, slow := range []bool{false, true} {
		queues := map[step][]target{}
		longest := 0
		for at, list := range all {
			list = slices.DeleteFunc(slices.Clone(list), func(t target) bool { return t.kind.IsSlow() != slow })
			slices.SortFunc(list, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
			random := rand.New(rand.NewPCG(uint64(seed), uint64(len(list))))
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			queues[at], longest = list, max(longest, len(list))
		}
		for i := range longest {
			it := item{name: fmt.Sprintf("exhaustive-%t-%d", slow, i), seed: seed, scenario: sc, slow: slow,
				faults: map[step]proxy.Plan{}, survivable: map[step]bool{}, probe: i%probeEvery == 0}
			var names []string
			for _, at := range []step{create, plan, update, destroy} {
				if i < len(queues[at]) {
					t := queues[at][i]
					it.faults[at], it.survivable[at] = t.plan(), t.kind.IsSurvivable()
					names = append(names, t.String())
				}
			}
			it.reproduce = fmt.Sprintf("-only %q", strings.Join(names, ";"))
			items = append(items, it)
		}
	}
	return items
}

// only returns a cycle with the given targets, separated by semicolons.
func only(text string, sc scenario) (item, error) {
	it := item{name: "only", scenario: sc, faults: map[step]proxy.Plan{}, survivable: map[step]bool{}, probe: true,
		reproduce: fmt.Sprintf("-only %q", text)}
	for part := range strings.SplitSeq(text, ";") {
		t, err := parseTarget(part)
		if err != nil {
			return item{}, err
		}
		it.faults[t.step], it.survivable[t.step] = t.plan(), t.kind.IsSurvivable()
		it.slow = it.slow || t.kind.IsSlow()
	}
	return it, nil
}

// atRate injects transient faults into a share of the requests of all steps.
func atRate(percent int, seed int64, kinds []proxy.Kind, sc scenario) item {
	it := random(float64(percent)/100, seed, kinds, sc)
	it.name = fmt.Sprintf("rate%d", percent)
	it.reproduce = fmt.Sprintf("-mode rate%d -seed %d -runs 1", percent, seed)
	return it
}

// atRandom injects faults of any kind, except slow ones, into some requests of all steps.
func atRandom(seed int64, kinds []proxy.Kind, sc scenario) item {
	kinds = slices.DeleteFunc(slices.Clone(kinds), proxy.Kind.IsSlow)
	it := random(0.03, seed, kinds, sc)
	it.name, it.http2 = "random", seed%2 == 1
	it.reproduce = fmt.Sprintf("-mode random -seed %d -runs 1", seed)
	return it
}

func random(rate float64, seed int64, kinds []proxy.Kind, sc scenario) item {
	it := item{seed: seed, scenario: sc, faults: map[step]proxy.Plan{}, probe: true}
	for _, at := range []step{create, plan, update, destroy} {
		it.faults[at] = func(r proxy.Request) *proxy.Fault {
			// Depends on the request rather than on the order of requests, which differs between runs.
			h := hash(seed, at, r)
			if float64(h%10000) >= rate*10000 {
				return nil
			}
			applicable := slices.DeleteFunc(slices.Clone(kinds), func(k proxy.Kind) bool { return !k.AppliesTo(r) })
			if len(applicable) == 0 {
				return nil
			}
			return faultAt(applicable[h/10000%uint64(len(applicable))], h/1000000)
		}
	}
	return it
}

// atCount injects one fault at the request of the creation with the given number.
func atCount(kind proxy.Kind, at int, seed int64, sc scenario, mode string) item {
	return item{
		name: mode, seed: seed, scenario: sc,
		reproduce: fmt.Sprintf("-mode %s -seed %d", mode, seed),
		faults: map[step]proxy.Plan{create: func() proxy.Plan {
			count := 0 // the proxy calls the plan sequentially
			return func(proxy.Request) *proxy.Fault {
				count++
				if count != at {
					return nil
				}
				return &proxy.Fault{Kind: kind}
			}
		}()},
	}
}

// faultAt returns a fault with a duration derived from h.
func faultAt(kind proxy.Kind, h uint64) *proxy.Fault {
	duration := time.Duration(0)
	switch kind {
	case proxy.Delay:
		duration = 2 * time.Second
	case proxy.OutageRefused, proxy.OutageReset:
		duration = 3*time.Second + time.Duration(h%5001)*time.Millisecond
	default:
	}
	return &proxy.Fault{Kind: kind, Duration: duration, Seed: h}
}

func hash(seed int64, at step, r proxy.Request) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d %s %s", seed, at, r)
	sum := h.Sum64()
	sum ^= sum >> 33 // the low bits of FNV are not random enough for texts that differ in their last byte
	sum *= 0xff51afd7ed558ccd
	return sum ^ sum>>33
}
