package histories_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Operations of a history. A state is a Terraform state; the other client is neither of them.
const (
	apply   = "apply"   // of a state: plan and apply
	finish  = "finish"  // of a run, after the state was written: the creation is completed
	destroy = "destroy" // of a state
	adopt   = "import"  // by a state
	refresh = "refresh" // of a state

	foreignCreate = "other client creates"
	foreignDelete = "other client deletes"
	foreignChange = "other client changes"
	observe       = "observe"
)

// Results of operations.
const (
	succeeded   = "success"
	rejected    = "rejected"    // because of an object that exists or does not exist
	overwritten = "overwritten" // two runs created the object at the same time, and this one reports the error
	failed      = "error"
)

// input is the invocation of an operation on one object.
type input struct {
	object string // key of the object
	op     string
	state  string // of the run, "" for the other client
	held   string // UID in this state before
	value  string // to write
	// call and end are the times of the invocation and of the response.
	call, end int64
}

// output is the response.
type output struct {
	result string
	uid    string // in state afterwards, or of the object that was read or created; "" for none
	value  string // that was read
	text   string // of an error
}

// owner is the state of the model: the live object with a name.
type owner struct {
	uid     string // "" if there is none
	value   string
	creator string // state whose creation is not completed, so that another creation continues with the object
	born    int64  // time of the response to its creation
}

// model is what the provider promises about one object of several states: a completed creation belongs to its state,
// nobody changes or deletes another object than the one in its state, and after a success the object in state is the
// live one.
func model() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Partition: partition,
		Init:      func() []any { return []any{owner{}} },
		Step: func(state, in, out any) []any {
			live, _ := state.(owner)
			invoked, _ := in.(input)
			response, _ := out.(output)
			var next []any
			for _, after := range step(live, invoked, response) {
				next = append(next, after)
			}
			return next
		},
		DescribeOperation: func(in, out any) string {
			invoked, _ := in.(input)
			response, _ := out.(output)
			return describe(invoked, response)
		},
		DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
	}
	return nondeterministic.ToModel()
}

// step returns the states of the object after an operation. There is none if the operation is not possible.
func step(live owner, in input, out output) []owner {
	same, when := []owner{live}, func(possible bool, after ...owner) []owner {
		if possible {
			return after
		}
		return nil
	}
	switch in.op {
	case observe:
		return when(live.uid == out.uid && live.value == out.value, same...)
	case foreignCreate:
		if out.result != succeeded {
			return when(live.uid != "", same...)
		}
		return when(live.uid == "", owner{uid: out.uid, value: in.value, born: in.end})
	case foreignDelete: // in.held is the UID to delete
		if live.uid == in.held && out.result == succeeded {
			return []owner{{}}
		}
		return when(live.uid != in.held, same...) // somebody else may have deleted it as well
	case foreignChange:
		if out.result != succeeded {
			return when(live.uid != in.held, same...)
		}
		return when(live.uid == in.held, live.with(in.value))
	case adopt:
		return when(out.result != succeeded || live.uid == out.uid, same...)
	case refresh:
		return when(out.result != succeeded || (live.uid == in.held) == (out.uid != ""), same...)
	case finish:
		if live.creator == in.state && out.result == succeeded {
			live.creator = ""
		}
		return []owner{live}
	case destroy:
		return afterDestroy(live, in, out)
	default:
		return afterApply(live, in, out)
	}
}

func (o owner) with(value string) owner {
	o.value = value
	return o
}

func afterDestroy(live owner, in input, out output) []owner {
	switch {
	case live.uid != in.held || live.uid == "":
		return []owner{live} // another object remains
	case out.result == succeeded:
		return []owner{{}}
	}
	return []owner{live, {}}
}

func afterApply(live owner, in input, out output) []owner {
	switch out.result {
	case succeeded:
		return afterSuccess(live, in, out)
	case overwritten: // only an object that was created during this apply
		if live.uid == "" || live.born < in.call {
			return nil
		}
		changed := live.with(in.value)
		changed.creator = in.state
		return []owner{changed}
	case rejected:
		if live.uid == "" {
			return nil
		}
	case failed: // possibly after the object was applied, because of another one of the resource
		return append(afterSuccess(live, in, out), live)
	}
	return []owner{live}
}

// afterSuccess returns the state after an apply that has applied the object.
func afterSuccess(live owner, in input, out output) []owner {
	changed := live.with(in.value)
	switch {
	case out.uid == "":
		return nil
	case live.uid == out.uid && in.held == out.uid: // updated, or unchanged
		return []owner{changed}
	case live.uid == out.uid && live.creator != "": // continued with an unfinished creation
		changed.creator = in.state
		return []owner{changed}
	case live.uid == "" && out.uid != in.held: // created
		return []owner{{uid: out.uid, value: in.value, creator: in.state, born: in.end}}
	}
	return nil
}

func describe(in input, out output) string {
	text := in.op
	if in.state != "" {
		text = in.state + " " + text
	}
	if in.held != "" {
		text += " of " + short(in.held)
	}
	if in.value != "" {
		text += " with " + in.value
	}
	if out.result != "" {
		text += ": " + out.result
	}
	if out.uid != "" || in.op == observe {
		text += fmt.Sprintf(" -> %s %s", short(out.uid), out.value)
	}
	return text
}

func short(uid string) string {
	if uid == "" {
		return "nothing"
	}
	return uid[:min(len(uid), 8)]
}

// partition separates a history by object.
func partition(history []porcupine.Operation) [][]porcupine.Operation {
	byObject := map[string][]porcupine.Operation{}
	for _, op := range history {
		in, _ := op.Input.(input)
		byObject[in.object] = append(byObject[in.object], op)
	}
	var out [][]porcupine.Operation
	for _, operations := range byObject {
		out = append(out, operations)
	}
	return out
}

// explain returns the operations of a history in the order of their invocation.
func explain(history []porcupine.Operation) string {
	sorted := slices.Clone(history)
	slices.SortFunc(sorted, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	text := ""
	for _, op := range sorted {
		in, _ := op.Input.(input)
		out, _ := op.Output.(output)
		summary, _, _ := strings.Cut(out.text, "\n")
		text += fmt.Sprintf("%6d - %6d ms  %s %s\n", op.Call/1e6, op.Return/1e6, describe(in, out), summary)
	}
	return text
}
