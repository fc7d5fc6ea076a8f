package histories_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
	"github.com/ktdev/terraform-provider-kt/test/acctest/inprocess"
)

// state is a Terraform state with one resource, of which one command runs at a time.
type state struct {
	*history

	name     string
	random   *rand.Rand
	resource *core.Resource
	written  int
	replaced int
}

func newState(h *history, name string, random *rand.Rand) (*state, error) {
	r, err := inprocess.NewResource(h.subject.typ)
	return &state{history: h, name: name, random: random, resource: r}, err
}

// run runs random commands, and at the end destroys what the state has.
func (s *state) run(ctx context.Context, commands int) error {
	for range commands {
		var err error
		switch choice, held := s.random.IntN(10), s.held() != ""; {
		case choice < 5:
			err = s.apply(ctx)
		case choice < 7 && held:
			err = s.destroy(ctx)
		case choice < 8 && held:
			err = s.refresh(ctx)
		case held:
			s.resource.Forget() // terraform state rm
		case choice < 8:
			err = s.adopt(ctx)
		default:
			err = s.apply(ctx)
		}
		if err != nil {
			return err
		}
		s.pause(ctx)
	}
	return s.destroy(ctx)
}

// held returns the UID of the object in state, or "": the attribute, or if there is none, what private state contains.
func (s *state) held() string {
	attributes := s.resource.Attributes()
	if uid, has := attributes["uid"]; has {
		text, _ := uid.(string)
		return text
	}
	var documents map[string][]byte
	if attributes == nil || json.Unmarshal(s.resource.Private(), &documents) != nil {
		return ""
	}
	var memory map[string]struct {
		UID string `json:"uid"`
	}
	_ = json.Unmarshal(documents["applied"], &memory) // without it, nothing is known
	kind, _ := s.subject.foreign["kind"].(string)
	return memory[kind+"/"+s.ns+"/"+s.subject.object].UID
}

// provider runs what one provider does, and ends it.
func (s *state) provider(ctx context.Context, do func(*core.Command) error) (end func(), err error) {
	provider := inprocess.New(ctx, "test")
	end = func() { provider.End(ctx) }
	block := fmt.Sprintf("config_path = %q\nnamespace = %q\nusername = \"alice\"\n", cluster.Kubeconfig(), s.ns)
	command, err := provider.Begin(ctx, block)
	if err != nil {
		end()
		return nil, err
	}
	return end, do(command)
}

// apply plans and applies with different providers, as Terraform does. Between the two, another client may act.
func (s *state) apply(ctx context.Context) error {
	s.written++
	value := fmt.Sprintf("%s%d", s.name, s.written)
	body := fmt.Sprintf("%slabels = { %q = %q }\n", s.subject.body, valueLabel, value)
	respond := s.invoke(input{op: apply, state: s.name, held: s.held(), value: value})
	var plan *core.Plan
	end, err := s.provider(ctx, func(c *core.Command) (err error) {
		plan, err = s.resource.Plan(ctx, c, body)
		return err
	})
	if end == nil {
		return err
	}
	end()
	if err != nil {
		respond(s.response(err))
		return ctx.Err()
	}
	if err := s.meanwhile(ctx); err != nil {
		return err
	}
	end, err = s.provider(ctx, func(c *core.Command) error {
		_, err := s.resource.Apply(ctx, c, plan)
		return err
	})
	if end == nil {
		return err
	}
	respond(s.response(err))
	s.pause(ctx)
	return s.finish(ctx, end)
}

// meanwhile lets others act between a plan and its apply: in a third of the cases, the object is replaced.
func (s *state) meanwhile(ctx context.Context) error {
	s.replaced++
	if s.random.IntN(3) == 0 {
		return s.replace(ctx, fmt.Sprintf("f%s%d", s.name, s.replaced))
	}
	for range s.random.IntN(3) {
		s.pause(ctx)
	}
	return nil
}

// finish ends the provider. If the object still has the mark afterwards, the request failed, which is allowed.
func (s *state) finish(ctx context.Context, end func()) error {
	respond := s.invoke(input{op: finish, state: s.name})
	end()
	live, err := s.live(ctx)
	if err != nil {
		return err
	}
	out := output{result: succeeded}
	if live != nil && live.GetAnnotations()[kube.UnfinishedAnnotation] != "" {
		out.result = failed
	}
	respond(out)
	return nil
}

// response classifies the result of an apply.
func (s *state) response(err error) output {
	out := resultOf(err)
	out.uid = s.held()
	kind, _ := s.subject.foreign["kind"].(string)
	object := fmt.Sprintf("%s %s/%s already exists", kind, s.ns, s.subject.object)
	switch {
	case !strings.Contains(out.text, object):
	case strings.Contains(out.text, "Another run created it at the same time"):
		out.result = overwritten
	default:
		out.result = rejected
	}
	return out
}

func (s *state) destroy(ctx context.Context) error {
	respond := s.invoke(input{op: destroy, state: s.name, held: s.held()})
	var plan *core.Plan
	end, err := s.provider(ctx, func(c *core.Command) (err error) {
		plan, err = s.resource.PlanDestroy(ctx, c)
		return err
	})
	if end == nil {
		return err
	}
	end()
	if err == nil {
		if err := s.meanwhile(ctx); err != nil {
			return err
		}
		end, err = s.provider(ctx, func(c *core.Command) error {
			_, err := s.resource.Apply(ctx, c, plan)
			return err
		})
		if end == nil {
			return err
		}
		end()
	}
	respond(resultOf(err))
	return ctx.Err()
}

func (s *state) refresh(ctx context.Context) error {
	respond := s.invoke(input{op: refresh, state: s.name, held: s.held()})
	end, err := s.provider(ctx, func(c *core.Command) error { return s.resource.Refresh(ctx, c) })
	if end == nil {
		return err
	}
	end()
	out := resultOf(err)
	out.uid = s.held()
	respond(out)
	return ctx.Err()
}

// adopt imports the object.
func (s *state) adopt(ctx context.Context) error {
	respond := s.invoke(input{op: adopt, state: s.name})
	end, err := s.provider(ctx, func(c *core.Command) error {
		return s.resource.Import(ctx, c, s.ns+"/x")
	})
	if end == nil {
		return err
	}
	end()
	if err == nil && s.held() == "" {
		err = errors.New("it has no UID")
	}
	if err != nil {
		s.resource.Forget()
	}
	out := resultOf(err)
	out.uid = s.held()
	respond(out)
	return ctx.Err()
}
