package ready

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Messages of the kubelet (pkg/kubelet/kubelet_pods.go,
// pkg/volume/{secret,configmap}).
var (
	absentObject    = regexp.MustCompile(`(?i)\b(secret|configmap) "([^"]+)" not found`)
	absentKey       = regexp.MustCompile(`couldn't find key (.+?) in (Secret|ConfigMap) ([^/\s]+)/(\S+)`)
	absentVolumeKey = regexp.MustCompile(`references non-existent (secret|config) key: (\S+)`)
	volumeInMessage = regexp.MustCompile(`for volume "([^"]+)"`)
)

// missingObject extracts the missing Secret, ConfigMap or key from a message of
// the kubelet. It returns nil for other messages, and for an object that the pod
// does not use: whoever may write events can write any text.
func missingObject(p *corev1.Pod, message string) *Ref {
	ref := namedObject(p, message)
	if ref == nil || ref.Name == "" {
		return ref
	}
	used, configMaps := References(&p.Spec)
	if ref.Kind != "Secret" {
		used = configMaps
	}
	if ref.Namespace != p.Namespace || !slices.Contains(used, ref.Name) {
		return nil
	}
	return ref
}

// namedObject extracts the object or key that a message reports as missing.
func namedObject(p *corev1.Pod, message string) *Ref {
	if m := absentKey.FindStringSubmatch(message); m != nil {
		return &Ref{Kind: m[2], Namespace: m[3], Name: m[4], Key: m[1]}
	}
	if m := absentObject.FindStringSubmatch(message); m != nil {
		return &Ref{Kind: properKind(m[1]), Namespace: p.Namespace, Name: m[2]}
	}
	if m := absentVolumeKey.FindStringSubmatch(message); m != nil {
		ref := &Ref{Kind: properKind(m[1]), Namespace: p.Namespace, Key: m[2]}
		if v := volumeInMessage.FindStringSubmatch(message); v != nil {
			ref.Name = mountedName(p, v[1], ref.Kind)
		}
		return ref
	}
	return nil
}

func properKind(word string) string {
	if strings.EqualFold(word, "secret") {
		return "Secret"
	}
	return "ConfigMap"
}

// mountedName returns the name of the Secret or ConfigMap that a volume mounts.
// It returns "" for a projected volume, which may mount several.
func mountedName(p *corev1.Pod, volume, kind string) string {
	for _, v := range p.Spec.Volumes {
		switch {
		case v.Name != volume:
		case kind == "Secret" && v.Secret != nil:
			return v.Secret.SecretName
		case kind == "ConfigMap" && v.ConfigMap != nil:
			return v.ConfigMap.Name
		}
	}
	return ""
}

// configCause explains CreateContainerConfigError.
func (d containerDiagnosis) configCause(message string) *Cause {
	cannot := fmt.Sprintf("Container %s cannot start: ", d.status.Name)
	if ref := missingObject(d.pod, message); ref != nil {
		return d.missing(ReasonConfigError, cannot, ref)
	}
	if strings.Contains(message, "runAsNonRoot") {
		return d.fault(ReasonConfigError, cannot+clip(message), "Set the ID of a user other than root in %s, or use "+
			"an image that sets one.", advice.Security).terminal(shortGrace)
	}
	if mentions(message, "subpath") {
		return d.fault(ReasonConfigError, cannot+clip(message), "Check the sub path of the mount: it must be inside "+
			"its volume, and is created only in a volume that can be written.").terminal(volumeGrace)
	}
	c := d.fault(ReasonConfigError, cannot+clip(message),
		"Check the Secrets and ConfigMaps that the container references, and %s.", advice.Security)
	if mentions(message, "timed out waiting for the condition", "have not yet been read") {
		return c // the kubelet has not read the object, or the Services, yet
	}
	return c.terminal(volumeGrace) // the kubelet tries again after 10 to 15 s
}

const cannotMount = "A volume cannot be mounted: "

// mountCause explains a pod whose volumes cannot be mounted.
func (d podDiagnosis) mountCause() *Cause {
	e := d.events.latest("FailedMount", "FailedAttachVolume", "FailedMapVolume")
	if e == nil {
		return nil
	}
	pulling := d.events.latest("Pulling", "Pulled", "Created")
	if pulling != nil && LastSeen(pulling).After(LastSeen(e)) {
		return nil // the only sign of a successful mount before kubelet 1.29
	}
	// A later event may only report that mounting timed out.
	for _, earlier := range slices.Backward(d.events) {
		if ref := missingObject(d.pod, earlier.Message); ref != nil && earlier.Reason == "FailedMount" {
			c := d.missing(ReasonMountFailed, cannotMount, ref)
			c.Claimed = true
			return c
		}
		if mentions(earlier.Message, "hostpath type check failed") {
			return d.cause(ReasonMountFailed, "", andThen(cannotMount+clip(earlier.Message), "The kubelet retries."),
				"Create the path on the nodes, or correct the path or the type of the volume.")
		}
	}
	if strings.Contains(e.Message, "Multi-Attach") {
		return d.attachedCause(e.Message)
	}
	return d.cause(ReasonMountFailed, "", andThen(cannotMount+clip(e.Message), "The kubelet retries."),
		"Check the driver of the volume and its server if this persists.")
}

// attachedCause explains a volume that another node uses, by the message of the attach/detach controller
// (pkg/controller/volume/attachdetach/reconciler), which ends with the names of the pods there. A Deployment keeps such
// a pod if it is ready: an update waits for the new pod before it stops the previous one.
func (d podDiagnosis) attachedCause(message string) *Cause {
	c := d.cause(ReasonMountFailed, "", andThen(cannotMount+clip(message), "The volume is still "+
		"attached to another node, and its access mode ReadWriteOnce allows one node only."),
		"Wait until the pod on the other node is deleted, or delete it. If both should run, use a volume "+
			"with the access mode ReadWriteMany, or set %s to the other node.", advice.NodeSelector)
	s := d.workload
	_, users, _ := strings.Cut(message, "pod(s) ")
	names := strings.Fields(strings.ReplaceAll(users, ",", " "))
	mounts := func(claim string) bool { return slices.Contains(ClaimNames(d.pod), claim) }
	stays := slices.ContainsFunc(living(s.Pods), func(p *corev1.Pod) bool {
		return PodReady(p) && p.Spec.NodeName != d.pod.Spec.NodeName && slices.Contains(names, p.Name) &&
			slices.ContainsFunc(ClaimNames(p), mounts)
	})
	if !stays || len(kind.WorkloadOf(s.Workload.GroupVersionKind().GroupKind()).Strategy) == 0 {
		return c
	}
	c.Hint = advice.Of("Use a volume with the access mode ReadWriteMany, or set %s to the other node. If the pod "+
		"there is of the previous version, set %s to Recreate, which stops it first.",
		advice.NodeSelector, advice.Strategy)
	return c.terminal(volumeGrace)
}

// missing reports a missing object, with the command that lists what exists: the
// keys of the object, without their values, or the other objects.
func (d podDiagnosis) missing(reason, cannot string, ref *Ref) *Cause {
	c := d.cause(reason, ref.subject(), cannot+ref.absent(), "%s", ref.hint())
	c.Missing = ref
	resource := strings.ToLower(ref.Kind)
	switch {
	case ref.Key != "" && ref.Name != "" && ref.Kind == "Secret":
		c.Command = Kubectl(ref.Namespace, "describe", "secret", ref.Name)
	case ref.Key != "" && ref.Name != "":
		c.Command = Kubectl(ref.Namespace, "get", resource, ref.Name, "-o", "yaml")
	case ref.Name != "":
		c.Command = Kubectl(ref.Namespace, "get", kind.Guess(corev1.SchemeGroupVersion.WithKind(ref.Kind)).Resource)
	}
	if ref.Key != "" {
		return c.terminal(volumeGrace) // if it is added, the kubelet finds it after 10 to 15 s
	}
	return c.terminal(shortGrace)
}

// subject is the same for an object and for a key in it, so that the grace
// period continues if the object is created without the key.
func (r *Ref) subject() string { return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name) }

// absent returns a sentence that reports the missing object or key.
func (r *Ref) absent() string {
	switch {
	case r.Key != "" && r.Name != "":
		return fmt.Sprintf("%s %q in namespace %s has no key %q.", r.Kind, r.Name, r.Namespace, r.Key)
	case r.Key != "":
		return fmt.Sprintf("a %s has no key %q.", r.Kind, r.Key)
	}
	return fmt.Sprintf("%s %q does not exist in namespace %s.", r.Kind, r.Name, r.Namespace)
}

func (r *Ref) hint() advice.Text {
	key, name := advice.ConfigMapKey, advice.ConfigMapName
	switch r.Kind {
	case "Secret":
		key, name = advice.SecretKey, advice.SecretName
	case "PersistentVolumeClaim":
		name = advice.ClaimName
	}
	if r.Key != "" {
		return advice.Of("Add the key to the %s, or correct %s.", r.Kind, key)
	}
	return advice.Of("%s, or correct %s.", advice.CreateFirst, name)
}
