package main

import (
	"context"
	"fmt"

	"github.com/libp2p/go-libp2p"
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/security/noise"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
)

// config is the program's only argument, as JSON.
type config struct {
	// Key is the node's secp256k1 key, 32 bytes.
	Key hexBytes `json:"key"`
	// Port on 127.0.0.1; 0 lets the system choose.
	Port      int    `json:"port"`
	UserAgent string `json:"userAgent"`
	ChainID   uint64 `json:"chainId"`
	// Signer is the address whose blocks are accepted.
	Signer hexBytes `json:"signer"`
	// Lazy peers subscribe but want no mesh: they graft nobody and refuse to be grafted.
	Lazy bool `json:"lazy"`
	// Scoring is "none", "global" (no topic is scored) or "silent-topic" (the pre-Canyon topic is scored, and a peer
	// that delivers nothing there falls below zero).
	Scoring string `json:"scoring"`
	// Spellings are the ends of the protocol id under which blocks are served: "" and "/".
	Spellings []string `json:"spellings"`
	// Discovery starts discv5.
	Discovery *discoveryConfig `json:"discovery"`
}

// gossipPeer is a host with its parts.
type gossipPeer struct {
	cfg    config
	host   host.Host
	topics [payloadVersions]*pubsub.Topic
	blocks *blockExchange
	scores *scoreBook
	disc   *discovery
}

func startPeer(ctx context.Context, cfg config) (*gossipPeer, error) {
	key, err := crypto.UnmarshalSecp256k1PrivateKey(cfg.Key)
	if err != nil {
		return nil, err
	}
	h, err := libp2p.New(
		libp2p.Identity(key),
		libp2p.ListenAddrStrings(fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", cfg.Port)),
		libp2p.Transport(tcp.NewTCPTransport),
		libp2p.Security(noise.ID, noise.New),
		libp2p.Muxer(yamux.ID, yamux.DefaultTransport),
		libp2p.UserAgent(cfg.UserAgent),
		libp2p.DisableRelay(),
		libp2p.DisableMetrics(),
		libp2p.Ping(true),
	)
	if err != nil {
		return nil, err
	}
	p := &gossipPeer{cfg: cfg, host: h, blocks: newBlockExchange(h, cfg), scores: newScoreBook()}
	if err := p.reportConnections(ctx); err != nil {
		return nil, err
	}
	if err := p.joinGossip(ctx); err != nil {
		return nil, err
	}
	if cfg.Discovery != nil {
		if p.disc, err = startDiscovery(ctx, cfg, h); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *gossipPeer) address() string {
	return fmt.Sprintf("%s/p2p/%s", p.host.Addrs()[0], p.host.ID())
}

// record is the ENR text, empty without discovery.
func (p *gossipPeer) record() string {
	if p.disc == nil {
		return ""
	}
	return p.disc.record()
}

func (p *gossipPeer) connect(ctx context.Context, address string) error {
	info, err := peer.AddrInfoFromString(address)
	if err != nil {
		return err
	}
	return p.host.Connect(ctx, *info)
}

// reportConnections tells of peers that come and go, and of what they say of themselves.
func (p *gossipPeer) reportConnections(ctx context.Context) error {
	p.host.Network().Notify(&network.NotifyBundle{
		ConnectedF: func(_ network.Network, c network.Conn) {
			emit(map[string]any{"event": "connected", "peer": c.RemotePeer().String(), "inbound": c.Stat().Direction == network.DirInbound})
		},
		DisconnectedF: func(_ network.Network, c network.Conn) {
			emit(map[string]any{"event": "disconnected", "peer": c.RemotePeer().String()})
		},
	})
	identified, err := p.host.EventBus().Subscribe(new(event.EvtPeerIdentificationCompleted))
	if err != nil {
		return err
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-identified.Out():
				done, ok := e.(event.EvtPeerIdentificationCompleted)
				if !ok {
					continue
				}
				addresses := make([]string, 0, len(done.ListenAddrs))
				for _, a := range done.ListenAddrs {
					addresses = append(addresses, a.String())
				}
				emit(map[string]any{
					"event": "identified", "peer": done.Peer.String(), "userAgent": done.AgentVersion,
					"protocolVersion": done.ProtocolVersion, "protocols": done.Protocols, "addresses": addresses,
				})
			}
		}
	}()
	return nil
}
