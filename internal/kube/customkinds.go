package kube

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// CustomKinds returns the namespaced kinds that are not part of Kubernetes and
// whose objects can be read, each in the preferred version of the server. A
// group whose discovery fails is skipped.
func (d *Discovery) CustomKinds(ctx context.Context) ([]Kind, error) {
	var groups metav1.APIGroupList
	if _, err := d.discover(ctx, "", &groups); err != nil {
		return nil, Wrap("look up", Ref{}, err)
	}
	var kinds []Kind
	for _, group := range groups.Groups {
		if isKubernetes(group.Name) {
			continue
		}
		gv := schema.GroupVersion{Group: group.Name, Version: group.PreferredVersion.Version}
		resources, _ := d.served(ctx, gv, "") // none after a failure
		for _, resource := range resources {
			if resource.Namespaced && slices.Contains(resource.Verbs, "get") {
				kinds = append(kinds, Kind{GroupVersionKind: gv.WithKind(resource.Kind), Resource: resource.Name,
					LabelSelector: kind.Ours})
			}
		}
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Compare(a.GroupKind().String(), b.GroupKind().String()) })
	return kinds, nil
}

// isKubernetes reports whether an API group is part of Kubernetes: it has no
// dot, or ends with .k8s.io
// (https://kubernetes.io/docs/reference/using-api/deprecation-policy/). Those of
// subprojects end with .x-k8s.io.
func isKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
