package main

import (
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// tracer reports who is in which mesh, and what is said besides blocks.
type tracer struct{}

func (t *tracer) Graft(p peer.ID, topic string) { t.mesh("grafted", p, topic) }
func (t *tracer) Prune(p peer.ID, topic string) { t.mesh("pruned", p, topic) }

func (t *tracer) mesh(name string, p peer.ID, topic string) {
	emit(map[string]any{"event": name, "peer": p.String(), "topic": topic})
}

func (t *tracer) AddPeer(p peer.ID, proto protocol.ID) {
	emit(map[string]any{"event": "gossips", "peer": p.String(), "protocol": proto})
}

func (t *tracer) SendRPC(rpc *pubsub.RPC, p peer.ID) {
	t.control("sent", rpc, p.String())
	for _, m := range rpc.Publish {
		t.block("sent", messageID(m.GetTopic(), m.Data), p.String())
	}
}

func (t *tracer) RecvRPC(rpc *pubsub.RPC) { t.control("received", rpc, "") }

func (t *tracer) ValidateMessage(m *pubsub.Message) {
	if !m.Local {
		t.block("received", m.ID, m.ReceivedFrom.String())
	}
}

func (t *tracer) block(direction, id, p string) {
	emit(map[string]any{"event": "block-" + direction, "peer": p, "messageId": hexBytes(id)})
}

func (t *tracer) control(direction string, rpc *pubsub.RPC, p string) {
	c := rpc.GetControl()
	if c == nil {
		return
	}
	tell := func(kind string, ids []string) {
		if len(ids) == 0 {
			return
		}
		list := make([]hexBytes, 0, len(ids))
		for _, id := range ids {
			list = append(list, hexBytes(id))
		}
		emit(map[string]any{"event": kind + "-" + direction, "peer": p, "ids": list})
	}
	for _, m := range c.GetIhave() {
		tell("ihave", m.GetMessageIDs())
	}
	for _, m := range c.GetIwant() {
		tell("iwant", m.GetMessageIDs())
	}
	for _, m := range c.GetIdontwant() {
		tell("idontwant", m.GetMessageIDs())
	}
	for _, m := range c.GetGraft() {
		emit(map[string]any{"event": "graft-" + direction, "peer": p, "topic": m.GetTopicID()})
	}
	for _, m := range c.GetPrune() {
		emit(map[string]any{"event": "prune-" + direction, "peer": p, "topic": m.GetTopicID()})
	}
}

func (t *tracer) RemovePeer(peer.ID)                    {}
func (t *tracer) Join(string)                           {}
func (t *tracer) Leave(string)                          {}
func (t *tracer) DeliverMessage(*pubsub.Message)        {}
func (t *tracer) RejectMessage(*pubsub.Message, string) {}
func (t *tracer) DuplicateMessage(*pubsub.Message)      {}
func (t *tracer) ThrottlePeer(peer.ID)                  {}
func (t *tracer) DropRPC(*pubsub.RPC, peer.ID)          {}
func (t *tracer) UndeliverableMessage(*pubsub.Message)  {}
