// Package driftbench measures how the provider detects and repairs changes that
// other clients make in the cluster. It creates computes of every kind, volumes,
// secrets and images. As other field managers, it then changes every field that
// the provider owns, and checks the next plan and apply.
package driftbench
