package drift_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccTerminatingLocalQueueIsCreatedAgain(t *testing.T) {
	t.Parallel()
	ns := withCRDs.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, withCRDs.Config(ns, "resource \"kt_queue\" \"q\" {\nname = \""+ns+"\"\n"+queueBody+"}\n"))
	cli.MustRun(t, "apply", "-auto-approve")
	uids := func() string {
		return withCRDs.Kubectl(t, "get", "clusterqueue/"+ns, "-o", "jsonpath={.metadata.uid}") + " " +
			withCRDs.Kubectl(t, "get", "localqueue/"+ns, "-n", ns, "-o", "jsonpath={.metadata.uid}")
	}
	before := strings.Fields(uids())
	patch := func(finalizers string) {
		withCRDs.Kubectl(t, "patch", "localqueue/"+ns, "-n", ns, "--type=merge", "-p",
			`{"metadata": {"finalizers": [`+finalizers+`]}}`)
	}
	patch(`"example.com/keep"`)
	withCRDs.Kubectl(t, "delete", "localqueue/"+ns, "-n", ns, "--wait=false")
	acctest.ExpectText(t, cli.MustRun(t, "plan"), "LocalQueue "+ns+"/"+ns+" is being deleted",
		"will be updated in-place", "Plan: 0 to add, 1 to change, 0 to destroy.")
	time.AfterFunc(5*time.Second, func() { patch("") })
	cli.MustRun(t, "apply", "-auto-approve")
	if after := strings.Fields(uids()); after[0] != before[0] || after[1] == before[1] {
		t.Errorf("UIDs of the ClusterQueue and the LocalQueue: %v, before: %v", after, before)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}
