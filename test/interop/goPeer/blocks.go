package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/golang/snappy"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

const transferTimeout = 10 * time.Second

// blockExchange serves payload_by_number and asks for it.
type blockExchange struct {
	host   host.Host
	cfg    config
	lock   sync.Mutex
	blocks map[uint64][]byte
}

func newBlockExchange(h host.Host, cfg config) *blockExchange {
	e := &blockExchange{host: h, cfg: cfg, blocks: map[uint64][]byte{}}
	for _, end := range cfg.Spellings {
		h.SetStreamHandler(e.protocol(end), func(s network.Stream) {
			if err := e.answer(s); err != nil {
				emit(map[string]any{"event": "answer-failed", "peer": s.Conn().RemotePeer().String(), "error": err.Error()})
				_ = s.Reset()
			}
		})
	}
	return e
}

func (e *blockExchange) protocol(end string) protocol.ID {
	return protocol.ID(fmt.Sprintf("/opstack/req/payload_by_number/%d/0%s", e.cfg.ChainID, end))
}

// serve takes blocks in; they are sent in the container of their members.
func (e *blockExchange) serve(blocks []envelope) error {
	e.lock.Lock()
	defer e.lock.Unlock()
	for _, block := range blocks {
		version := block.version()
		body, err := block.encode(version)
		if err != nil {
			return err
		}
		answer := []byte{0, 0, 0, 0, 0}
		if version >= 3 {
			answer[1] = 1
		}
		var framed bytes.Buffer
		w := snappy.NewBufferedWriter(&framed)
		if _, err := w.Write(body); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		e.blocks[uint64(block.Payload.BlockNumber)] = append(answer, framed.Bytes()...)
	}
	return nil
}

// answer tells of the question first: who has the answer may count on that.
func (e *blockExchange) answer(s network.Stream) error {
	if err := s.SetDeadline(time.Now().Add(transferTimeout)); err != nil {
		return err
	}
	var request [8]byte
	if _, err := io.ReadFull(s, request[:]); err != nil {
		return err
	}
	number := binary.LittleEndian.Uint64(request[:])
	emit(map[string]any{"event": "asked", "peer": s.Conn().RemotePeer().String(), "protocol": s.Protocol(), "number": number})
	e.lock.Lock()
	answer, ok := e.blocks[number]
	e.lock.Unlock()
	if !ok {
		answer = []byte{1}
	}
	if _, err := s.Write(answer); err != nil {
		return err
	}
	return s.Close()
}

type question struct {
	Peer   string `json:"peer"`
	Number uint64 `json:"number"`
	// Spelling is the end of the protocol id.
	Spelling string `json:"spelling"`
	// Container is the version by which the answer is decoded.
	Container int `json:"container"`
}

type reply struct {
	Code    byte      `json:"code"`
	Version uint32    `json:"version"`
	Block   *envelope `json:"block"`
}

func (e *blockExchange) ask(ctx context.Context, q question) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	id, err := peer.Decode(q.Peer)
	if err != nil {
		return nil, err
	}
	s, err := e.host.NewStream(ctx, id, e.protocol(q.Spelling))
	if err != nil {
		return nil, err
	}
	defer s.Reset()
	if err := s.SetDeadline(time.Now().Add(transferTimeout)); err != nil {
		return nil, err
	}
	if _, err := s.Write(binary.LittleEndian.AppendUint64(nil, q.Number)); err != nil {
		return nil, err
	}
	if err := s.CloseWrite(); err != nil {
		return nil, err
	}
	all, err := io.ReadAll(io.LimitReader(s, maxMessageBytes))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("empty answer")
	}
	if all[0] != 0 {
		if len(all) > 1 {
			return nil, fmt.Errorf("%d bytes after code %d", len(all)-1, all[0])
		}
		return &reply{Code: all[0]}, nil
	}
	if len(all) < 5 {
		return nil, errors.New("answer ends within its version field")
	}
	body, err := io.ReadAll(io.LimitReader(snappy.NewReader(bytes.NewReader(all[5:])), maxMessageBytes))
	if err != nil {
		return nil, err
	}
	block, err := decodeEnvelope(body, q.Container)
	return &reply{Version: binary.LittleEndian.Uint32(all[1:5]), Block: block}, err
}
