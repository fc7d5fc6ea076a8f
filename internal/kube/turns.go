package kube

import "sync"

// turn orders what one run does to one object. Terraform takes two resources for
// two things although they name one object: after a rename without a moved
// block, and with create_before_destroy, it creates and deletes what is the same
// in the cluster, in any order.
type turn struct {
	sync.Mutex

	taken bool
}

func (c *Cluster) turn(ref Ref) *turn {
	found, _ := c.turns.LoadOrStore(ref.String(), &turn{})
	t, _ := found.(*turn)
	return t
}

// Take notes that ref is created in this run, and calls look to see what is
// there; no deletion begins meanwhile, nor afterwards.
func (c *Cluster) Take(ref Ref, look func() error) error {
	t := c.turn(ref)
	t.Lock()
	defer t.Unlock()
	t.taken = true
	return look()
}

// Taken says whether ref was created in this run.
func (c *Cluster) Taken(ref Ref) bool {
	t := c.turn(ref)
	t.Lock()
	defer t.Unlock()
	return t.taken
}

// Drop calls remove, unless ref was created in this run.
func (c *Cluster) Drop(ref Ref, remove func() error) (dropped bool, err error) {
	t := c.turn(ref)
	t.Lock()
	defer t.Unlock()
	if t.taken {
		return false, nil
	}
	return true, remove()
}
