package main

import (
	"encoding/json"
	"os"
)

// state contains the parts of a state file that the bench checks.
type state struct {
	text      string
	manifests map[string]map[string]any // by Kind/namespace/name
	owners    map[string]string         // address of the resource that has an object
	uids      []string
	tainted   []string // resource addresses
}

// readState reads the state file.
func (w workDir) readState() (state, error) {
	out := state{manifests: map[string]map[string]any{}, owners: map[string]string{}}
	data, err := os.ReadFile(w.state())
	if err != nil {
		return out, err
	}
	out.text = string(data)
	var decoded struct {
		Resources []struct {
			Type, Name string
			Instances  []struct {
				Status     string
				Attributes struct {
					Manifests map[string]any
					UID       string
				}
			}
		}
	}
	if err := json.Unmarshal(data, &decoded); err != nil {
		return out, err
	}
	for _, resource := range decoded.Resources {
		address := resource.Type + "." + resource.Name
		for _, instance := range resource.Instances {
			for key, text := range instance.Attributes.Manifests {
				if text != nil { // null for objects that the cluster does not support
					out.manifests[key], out.owners[key] = decodeManifest(text), address
				}
			}
			if instance.Attributes.UID != "" {
				out.uids = append(out.uids, instance.Attributes.UID)
			}
			if instance.Status == "tainted" {
				out.tainted = append(out.tainted, address)
			}
		}
	}
	return out, nil
}
