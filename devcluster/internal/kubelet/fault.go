package kubelet

import (
	"strings"
)

// brokenPrefix starts the image names that ask for a failure. The top-level domain
// "invalid" is reserved (RFC 2606), so no real registry has the name.
const brokenPrefix = "broken.invalid/"

// fault is what goes wrong with a container.
type fault string

const (
	faultNone   fault = ""
	faultPull   fault = "pull"   // the image cannot be pulled, ever
	faultHeals  fault = "heals"  // the image cannot be pulled for healsAfter, then runs
	faultCrash  fault = "crash"  // exits with code 1 a second after each start
	faultOOM    fault = "oom"    // is killed for memory a second after each start
	faultConfig fault = "config" // names a Secret that is not there
	faultSlow   fault = "slow"   // is being created for slowFor, then runs
	faultNever  fault = "never"  // is being created forever
)

// faultOf reads the fault off an image name: broken.invalid/crash:1 crashes. An unknown
// name under broken.invalid/ fails to pull, as it would on a real node.
func faultOf(image string) fault {
	rest, broken := strings.CutPrefix(image, brokenPrefix)
	if !broken {
		return faultNone
	}
	name := rest
	if end := strings.IndexAny(rest, ":@/"); end >= 0 {
		name = rest[:end]
	}
	switch f := fault(name); f {
	case faultHeals, faultCrash, faultOOM, faultConfig, faultSlow, faultNever:
		return f
	case faultPull, faultNone:
	}
	return faultPull
}
