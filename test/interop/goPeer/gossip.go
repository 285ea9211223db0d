package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"
)

func topicName(chainID uint64, version int) string {
	return fmt.Sprintf("/optimism/%d/%d/blocks", chainID, version-1)
}

// joinGossip joins the four topics with the parameters that op-node uses (its gossip.go).
func (p *gossipPeer) joinGossip(ctx context.Context) error {
	params := pubsub.DefaultGossipSubParams()
	params.D, params.Dlo, params.Dhi, params.Dlazy = 8, 6, 12, 6
	if p.cfg.Lazy {
		params.D, params.Dlo, params.Dhi, params.Dout, params.Dscore = 0, 0, 0, 0, 0
	}
	params.HeartbeatInterval = 500 * time.Millisecond
	params.FanoutTTL = 24 * time.Second
	params.HistoryLength, params.HistoryGossip = 12, 3

	names := make([]string, 0, payloadVersions)
	for version := 1; version <= payloadVersions; version++ {
		names = append(names, topicName(p.cfg.ChainID, version))
	}
	options := []pubsub.Option{
		pubsub.WithGossipSubParams(params),
		pubsub.WithMessageIdFn(func(m *pb.Message) string { return messageID(m.GetTopic(), m.Data) }),
		pubsub.WithNoAuthor(),
		pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign),
		pubsub.WithSubscriptionFilter(pubsub.NewAllowlistSubscriptionFilter(names...)),
		pubsub.WithMaxMessageSize(maxMessageBytes),
		pubsub.WithPeerOutboundQueueSize(256),
		pubsub.WithValidateQueueSize(256),
		pubsub.WithSeenMessagesTTL(65 * time.Second),
		pubsub.WithPeerExchange(false),
		pubsub.WithRawTracer(&tracer{}),
	}
	options = append(options, scoreOptions(p.cfg, p.scores)...)
	gossip, err := pubsub.NewGossipSub(ctx, p.host, options...)
	if err != nil {
		return err
	}
	for i, name := range names {
		if err := gossip.RegisterTopicValidator(name, p.validator(i+1)); err != nil {
			return err
		}
		if p.topics[i], err = gossip.Join(name); err != nil {
			return err
		}
		if p.cfg.Scoring == "silent-topic" && i == 0 {
			if err := p.topics[i].SetScoreParams(silentTopicParams()); err != nil {
				return err
			}
		}
		subscription, err := p.topics[i].Subscribe(pubsub.WithBufferSize(256))
		if err != nil {
			return err
		}
		go p.report(ctx, subscription, i+1)
	}
	return nil
}

// validator passes on what the signer signed and what decodes, and whatever this peer itself was told to publish.
func (p *gossipPeer) validator(version int) pubsub.ValidatorEx {
	return func(_ context.Context, from peer.ID, m *pubsub.Message) pubsub.ValidationResult {
		if from == p.host.ID() {
			return pubsub.ValidationAccept
		}
		block, err := openMessage(p.cfg.ChainID, version, m.Data)
		if err == nil && !bytes.Equal(block.signer, p.cfg.Signer) {
			err = fmt.Errorf("signed by %x", block.signer)
		}
		if err != nil {
			emit(map[string]any{"event": "refused", "topic": m.GetTopic(), "peer": from.String(), "error": err.Error()})
			return pubsub.ValidationReject
		}
		m.ValidatorData = block
		return pubsub.ValidationAccept
	}
}

func (p *gossipPeer) report(ctx context.Context, subscription *pubsub.Subscription, version int) {
	for {
		m, err := subscription.Next(ctx)
		if err != nil {
			return
		}
		block, ok := m.ValidatorData.(*openedMessage)
		if !ok {
			continue
		}
		emit(map[string]any{
			"event": "message", "version": version, "topic": m.GetTopic(), "messageId": hexBytes(m.ID),
			"peer": m.ReceivedFrom.String(), "data": hexBytes(m.Data), "block": block.envelope,
		})
	}
}

// publication is a block to sign, a body to sign, or bytes to send as they are.
type publication struct {
	Version int       `json:"version"`
	Block   *envelope `json:"block"`
	Body    hexBytes  `json:"body"`
	Raw     hexBytes  `json:"raw"`
	Key     hexBytes  `json:"key"`
	// Spoil changes one byte of the signature: "recovery" makes the last one invalid, "r" the first.
	Spoil string `json:"spoil"`
}

// publish returns the id under which the message travels.
func (p *gossipPeer) publish(ctx context.Context, what publication) (hexBytes, error) {
	if what.Version < 1 || what.Version > payloadVersions {
		return nil, errors.New("version is not 1 to 4")
	}
	data := []byte(what.Raw)
	if what.Block != nil || what.Body != nil {
		body := []byte(what.Body)
		if what.Block != nil {
			var err error
			if body, err = what.Block.encode(what.Version); err != nil {
				return nil, err
			}
		}
		data = sealMessage(p.cfg.ChainID, body, what.Key, what.Spoil)
	}
	if err := p.topics[what.Version-1].Publish(ctx, data); err != nil {
		return nil, err
	}
	return hexBytes(messageID(topicName(p.cfg.ChainID, what.Version), data)), nil
}
