// Command goPeer is one peer of an OP Stack gossip network on go-libp2p and go-libp2p-pubsub, driven by JSON lines: a
// command a line on standard input, replies and events on standard output. It ends with its standard input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

var (
	outputLock sync.Mutex
	output     = json.NewEncoder(os.Stdout)
)

// emit writes one line; events carry the member "event", replies "reply".
func emit(line map[string]any) {
	outputLock.Lock()
	defer outputLock.Unlock()
	if err := output.Encode(line); err != nil {
		os.Exit(1)
	}
}

type command struct {
	ID   uint64          `json:"id"`
	Do   string          `json:"do"`
	With json.RawMessage `json:"with"`
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: goPeer CONFIG-JSON"))
	}
	var cfg config
	if err := json.Unmarshal([]byte(os.Args[1]), &cfg); err != nil {
		fail(fmt.Errorf("config: %w", err))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p, err := startPeer(ctx, cfg)
	if err != nil {
		fail(err)
	}
	emit(map[string]any{"event": "ready", "peer": p.host.ID().String(), "address": p.address(), "record": p.record()})

	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			fail(fmt.Errorf("command: %w", err))
		}
		go func() {
			value, err := p.run(ctx, c.Do, c.With)
			if err != nil {
				emit(map[string]any{"reply": c.ID, "error": err.Error()})
				return
			}
			emit(map[string]any{"reply": c.ID, "value": value})
		}()
	}
}

func (p *gossipPeer) run(ctx context.Context, name string, with json.RawMessage) (any, error) {
	switch name {
	case "connect":
		return call(with, func(a struct{ Address string }) (any, error) { return nil, p.connect(ctx, a.Address) })
	case "publish":
		return call(with, func(a publication) (any, error) { return p.publish(ctx, a) })
	case "serve":
		return call(with, func(a []envelope) (any, error) { return nil, p.blocks.serve(a) })
	case "ask":
		return call(with, func(a question) (any, error) { return p.blocks.ask(ctx, a) })
	case "scores":
		return p.scores.latest(), nil
	default:
		return nil, fmt.Errorf("unknown command %q", name)
	}
}

func call[A any](with json.RawMessage, do func(A) (any, error)) (any, error) {
	var args A
	if err := json.Unmarshal(with, &args); err != nil {
		return nil, err
	}
	return do(args)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
