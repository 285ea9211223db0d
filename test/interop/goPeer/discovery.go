package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/p2p/discover"
	"github.com/ethereum/go-ethereum/p2p/enode"
	"github.com/ethereum/go-ethereum/p2p/enr"
	"github.com/ethereum/go-ethereum/rlp"
	lcrypto "github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

type discoveryConfig struct {
	// Bootnodes are ENR or enode texts.
	Bootnodes []string `json:"bootnodes"`
	// Dial connects to what is found.
	Dial bool `json:"dial"`
}

// opstackEntry says in a node's record which chain it follows.
type opstackEntry struct{ chainID, version uint64 }

func (opstackEntry) ENRKey() string { return "opstack" }

func (e opstackEntry) EncodeRLP(w io.Writer) error {
	return rlp.Encode(w, binary.AppendUvarint(binary.AppendUvarint(nil, e.chainID), e.version))
}

func (e *opstackEntry) DecodeRLP(s *rlp.Stream) error {
	content, err := s.Bytes()
	if err != nil {
		return err
	}
	r := bytes.NewReader(content)
	if e.chainID, err = binary.ReadUvarint(r); err != nil {
		return err
	}
	e.version, err = binary.ReadUvarint(r)
	return err
}

// discovery is go-ethereum's discv5 under the host's key.
type discovery struct {
	cfg   config
	host  host.Host
	local *enode.LocalNode
	udp   *discover.UDPv5
}

func startDiscovery(ctx context.Context, cfg config, h host.Host) (*discovery, error) {
	key, err := crypto.ToECDSA(cfg.Key)
	if err != nil {
		return nil, err
	}
	db, err := enode.OpenDB("")
	if err != nil {
		return nil, err
	}
	bootnodes := make([]*enode.Node, 0, len(cfg.Discovery.Bootnodes))
	for _, text := range cfg.Discovery.Bootnodes {
		node, err := enode.Parse(enode.ValidSchemes, text)
		if err != nil {
			return nil, err
		}
		bootnodes = append(bootnodes, node)
	}
	port, err := h.Addrs()[0].ValueForProtocol(multiaddr.P_TCP)
	if err != nil {
		return nil, err
	}
	var tcp uint16
	if _, err := fmt.Sscan(port, &tcp); err != nil {
		return nil, err
	}
	loopback := net.IPv4(127, 0, 0, 1)
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: loopback})
	if err != nil {
		return nil, err
	}
	bound, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		return nil, errors.New("no UDP address")
	}
	local := enode.NewLocalNode(db, key)
	local.SetStaticIP(loopback)
	local.SetFallbackUDP(bound.Port)
	local.Set(enr.TCP(tcp))
	local.Set(opstackEntry{chainID: cfg.ChainID})
	udp, err := discover.ListenV5(conn, local, discover.Config{
		PrivateKey: key,
		Bootnodes:  bootnodes,
		// Names a node before it has answered a ping, which may take some seconds.
		NoFindnodeLivenessCheck: true,
	})
	if err != nil {
		return nil, err
	}
	d := &discovery{cfg: cfg, host: h, local: local, udp: udp}
	go d.search(ctx)
	return d, nil
}

func (d *discovery) record() string { return d.local.Node().String() }

// searchPause keeps a network of three from asking each other without end.
const searchPause = 100 * time.Millisecond

// search tells of each node of the chain, once for each record it has.
func (d *discovery) search(ctx context.Context) {
	nodes := d.udp.RandomNodes()
	defer nodes.Close()
	told := map[string]bool{}
	for ; nodes.Next(); time.Sleep(searchPause) {
		node := nodes.Node()
		if !d.isOfChain(node) || told[node.String()] {
			continue
		}
		told[node.String()] = true
		info, err := addressOf(node)
		if err != nil {
			continue
		}
		emit(map[string]any{"event": "found", "peer": info.ID.String(), "record": node.String()})
		if d.cfg.Discovery.Dial {
			if err := d.host.Connect(ctx, *info); err != nil {
				emit(map[string]any{"event": "dial-failed", "peer": info.ID.String(), "error": err.Error()})
			}
		}
	}
}

func (d *discovery) isOfChain(node *enode.Node) bool {
	var entry opstackEntry
	return node.Load(&entry) == nil && entry.chainID == d.cfg.ChainID && entry.version == 0
}

func addressOf(node *enode.Node) (*peer.AddrInfo, error) {
	key, err := lcrypto.UnmarshalSecp256k1PublicKey(crypto.CompressPubkey(node.Pubkey()))
	if err != nil {
		return nil, err
	}
	id, err := peer.IDFromPublicKey(key)
	if err != nil {
		return nil, err
	}
	address, err := multiaddr.NewMultiaddr(fmt.Sprintf("/ip4/%s/tcp/%d", node.IP(), node.TCP()))
	if err != nil {
		return nil, err
	}
	return &peer.AddrInfo{ID: id, Addrs: []multiaddr.Multiaddr{address}}, nil
}
