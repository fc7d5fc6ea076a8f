package observe

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

func known(workload string, pods, claims []string) ready.Snapshot {
	s := ready.Snapshot{Workload: kind.Deployment().Named("ml", workload),
		Claims: map[string]*corev1.PersistentVolumeClaim{}}
	for _, name := range pods {
		s.Pods = append(s.Pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, name := range claims {
		s.Claims[name] = nil
	}
	return s
}

func TestEventsOfAWorkloadAreThoseNamedAfterItAndItsPodsAndClaims(t *testing.T) {
	t.Parallel()
	interest := eventsNamedAfter(known("trainer", []string{"trainer-1", "head-xyz"}, []string{"data"}))
	for name, want := range map[string]bool{
		"trainer.17f": true, "trainer-1.17f": true, "trainer-7d-abc.17f": true, "head-xyz.17f": true, "data.17f": true,
		"trainer2.17f": false, "train.17f": false, "head.17f": false, "trainer": false, "": false,
	} {
		if got := interest.About(&kube.Entry{ObjectMeta: metav1.ObjectMeta{Name: name}}); got != want {
			t.Errorf("event %q: %t, want %t", name, got, want)
		}
	}
	if !slices.Equal(interest.Names, []string{"data", "head-xyz", "trainer"}) {
		t.Errorf("the names are %v", interest.Names)
	}
	selected := eventsNamedAfter(ready.Snapshot{Workload: known("", nil, nil).Workload})
	if selected.About(&kube.Entry{ObjectMeta: metav1.ObjectMeta{Name: "-1.17f"}}) {
		t.Error("without a workload, an event of another object is included")
	}
}

// A wait subscribes again when it learns of a pod whose events it would not receive otherwise.
func TestWatchCoversAnInterestOnlyIfItReportsAllOfItsChanges(t *testing.T) {
	t.Parallel()
	events := func(pods ...string) Interest { return eventsNamedAfter(known("trainer", pods, nil)) }
	for name, c := range map[string]struct {
		watched   []Interest
		concerned []Interest
		want      bool
	}{
		"nothing concerned":          {AllOf(kind.Pod()), nil, true},
		"the same":                   {[]Interest{events()}, []Interest{events()}, true},
		"all objects of the kind":    {AllOf(kind.Event()), []Interest{events("head-xyz")}, true},
		"pods named after it":        {[]Interest{events()}, []Interest{events("trainer-1")}, true},
		"a pod with another name":    {[]Interest{events()}, []Interest{events("head-xyz")}, false},
		"all instead of one":         {[]Interest{events()}, AllOf(kind.Event()), false},
		"another kind":               {AllOf(kind.Pod()), AllOf(kind.Pod(), kind.ReplicaSet()), false},
		"pods with another selector": {AllOf(kind.Pod()), AllOf(kind.Pod().All()), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (&Objects{Of: c.watched}).covers(c.concerned); got != c.want {
				t.Errorf("covers: %t, want %t", got, c.want)
			}
		})
	}
}

// subscriptions counts those of each kind that have not ended.
type subscriptions map[string]int

func (s subscriptions) Subscribe(of kube.Kind, _ string, _ func(*kube.Entry) bool, _ chan<- struct{}) func() {
	s[of.Kind]++
	return func() { s[of.Kind]-- }
}

func (s subscriptions) RefreshOld(context.Context, kube.Kind, string) {}

func TestWatchReplacesItsSubscriptionsAndEndsThem(t *testing.T) {
	t.Parallel()
	open := subscriptions{}
	watch := &Objects{Changes: open, Of: AllOf(kind.Pod(), kind.Event())}
	watch.Changed()
	watch.Changed()
	if open["Pod"] != 1 || open["Event"] != 1 {
		t.Errorf("%v, want one of each kind", open)
	}
	watch.Stop()
	watch.Stop()
	if open["Pod"] != 0 || open["Event"] != 0 {
		t.Errorf("%v are left", open)
	}
}
