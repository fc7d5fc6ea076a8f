package main

import (
	"flag"
	"io"

	"k8s.io/klog/v2"
)

// setLogOutput sends the log of the Kubernetes components to one writer instead of stderr.
func setLogOutput(out io.Writer) {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"logtostderr":     "false",
		"alsologtostderr": "false",
		"stderrthreshold": "FATAL",
		"one_output":      "true",
	} {
		if err := flags.Set(name, value); err != nil {
			panic("klog has no flag " + name + ": " + err.Error())
		}
	}
	klog.SetOutput(out)
}
