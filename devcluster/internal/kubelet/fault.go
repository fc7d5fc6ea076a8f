package kubelet

import (
	"strings"
)

// brokenPrefix is the prefix of image names that simulate a failure. The top-level domain
// "invalid" is reserved (RFC 2606), so that no real registry has this name.
const brokenPrefix = "broken.invalid/"

// fault is a simulated failure of a container.
type fault string

const (
	faultNone   fault = ""
	faultPull   fault = "pull"   // the image can never be pulled
	faultHeals  fault = "heals"  // the image cannot be pulled for healsAfter, then runs
	faultCrash  fault = "crash"  // exits with code 1 a second after each start
	faultOOM    fault = "oom"    // is killed because of its memory usage a second after each start
	faultConfig fault = "config" // refers to a missing Secret
	faultSlow   fault = "slow"   // is being created for slowFor, then runs
	faultNever  fault = "never"  // is being created forever
)

// faultOf returns the fault of an image name: broken.invalid/crash:1 crashes. Unknown
// names with the prefix broken.invalid/ fail to pull, like on a real node.
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
