// Package driftbench measures how the provider sees and repairs what others
// change in the cluster: it creates computes of every kind, and volumes, secrets
// and images, changes every field of theirs that the provider owns, as other
// field managers, and checks what the plan and the apply after that do.
package driftbench
