// Command kubectl is the kubectl of devcluster without its control plane. It starts in half the time, since it does not
// initialize the API server and the controllers. The acceptance tests run it some thousand times.
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	util.CheckErr(cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()))
}
