package histories_test

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// sequence returns operations of which each ends before the next one begins.
func sequence(ops ...porcupine.Operation) []porcupine.Operation {
	for i := range ops {
		in, _ := ops[i].Input.(input)
		ops[i].Call, ops[i].Return = int64(10*i), int64(10*i+5)
		in.object, in.call, in.end = "Secret/x", ops[i].Call, ops[i].Return
		ops[i].Input = in
	}
	return ops
}

func operation(in input, out output) porcupine.Operation {
	return porcupine.Operation{Input: in, Output: out}
}

func created(state, uid, value string) porcupine.Operation {
	return operation(input{op: apply, state: state, value: value}, output{result: succeeded, uid: uid})
}

func observed(uid, value string) porcupine.Operation {
	return operation(input{op: observe}, output{result: succeeded, uid: uid, value: value})
}

func finished(state string) porcupine.Operation {
	return operation(input{op: finish, state: state}, output{result: succeeded})
}

func destroyed(state, held string) porcupine.Operation {
	return operation(input{op: destroy, state: state, held: held}, output{result: succeeded})
}

// The model accepts what the provider promises, and nothing else.
func TestHistoriesOfWrongOwnersAreRejected(t *testing.T) {
	t.Parallel()
	updated := operation(input{op: apply, state: "a", held: "1", value: "v2"}, output{result: succeeded, uid: "1"})
	refused := operation(input{op: apply, state: "b", value: "v2"}, output{result: rejected})
	both := operation(input{op: apply, state: "b", value: "v2"}, output{result: overwritten})
	foreign := operation(input{op: foreignCreate, value: "f"}, output{result: succeeded, uid: "2"})
	foreignGone := operation(input{op: foreignDelete, held: "1"}, output{result: succeeded})
	imported := operation(input{op: adopt, state: "b"}, output{result: succeeded, uid: "1"})
	for name, test := range map[string]struct {
		ops   []porcupine.Operation
		valid bool
	}{
		"create, change and destroy": {sequence(created("a", "1", "v1"), finished("a"), observed("1", "v1"), updated,
			observed("1", "v2"), destroyed("a", "1"), observed("", "")), true},
		"an existing object is refused": {sequence(created("a", "1", "v1"), finished("a"), refused,
			observed("1", "v1")), true},
		"a completed creation is taken over": {sequence(created("a", "1", "v1"), finished("a"),
			created("b", "1", "v2")), false},
		"an unfinished creation is continued": {sequence(created("a", "1", "v1"), created("b", "1", "v2"),
			observed("1", "v2")), true},
		"a refused apply changes the object": {sequence(created("a", "1", "v1"), finished("a"), refused,
			observed("1", "v2")), false},
		"an object of long ago is overwritten": {sequence(created("a", "1", "v1"), finished("a"), both), false},
		"a refusal without an object":          {sequence(refused), false},
		"a destroy deletes another object": {sequence(created("a", "1", "v1"), finished("a"), foreignGone, foreign,
			destroyed("a", "1"), observed("", "")), false},
		"a destroy leaves another object": {sequence(created("a", "1", "v1"), finished("a"), foreignGone, foreign,
			destroyed("a", "1"), observed("2", "f")), true},
		"two clients delete the same object": {sequence(created("a", "1", "v1"), finished("a"), foreignGone,
			foreignGone, observed("", "")), true},
		"a destroy leaves its object": {sequence(created("a", "1", "v1"), finished("a"), destroyed("a", "1"),
			observed("1", "v1")), false},
		"a success without the live object": {sequence(created("a", "1", "v1"), finished("a"), foreignGone,
			updated), false},
		"a second object in place of the first": {sequence(created("a", "1", "v1"), finished("a"),
			created("b", "2", "v2")), false},
		"an imported object is destroyed": {sequence(created("a", "1", "v1"), finished("a"), imported,
			destroyed("b", "1"), observed("", "")), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := porcupine.CheckOperations(model(), test.ops); got != test.valid {
				t.Errorf("accepted: %t\n%s", got, explain(test.ops))
			}
		})
	}
}
