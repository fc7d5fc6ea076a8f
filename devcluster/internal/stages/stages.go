// Package stages contains the KWOK stages of the dev cluster's fake nodes and their ordinary pods.
package stages

import (
	"embed"
	"fmt"
	"path"

	"sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// ByResource maps a kind of object to its KWOK stages.
type ByResource = map[internalversion.StageResourceRef][]*internalversion.Stage

// Load reads the stages of KWOK for nodes and the embedded stages for pods.
func Load() (ByResource, error) {
	texts := map[string]string{
		"node-initialize": fast.DefaultNodeInit,
		"node-heartbeat":  heartbeat.DefaultNodeHeartbeatWithLease,
	}
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the embedded stages: %w", err)
	}
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join(".", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the embedded stage %s: %w", entry.Name(), err)
		}
		texts[entry.Name()] = string(text)
	}
	byResource := ByResource{}
	for name, text := range texts {
		stage, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("stage %s: %w", name, err)
		}
		byResource[stage.Spec.ResourceRef] = append(byResource[stage.Spec.ResourceRef], stage)
	}
	return byResource, nil
}

func parse(text string) (*internalversion.Stage, error) {
	var stage v1alpha1.Stage
	if err := yaml.UnmarshalStrict([]byte(text), &stage); err != nil {
		return nil, err
	}
	v1alpha1.SetObjectDefaults_Stage(&stage)
	return internalversion.ConvertToInternalStage(&stage)
}
