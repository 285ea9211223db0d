package main

import (
	"math"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
)

const slot = time.Second

// decay takes a counter to a hundredth within so many slots.
func decay(slots float64) float64 { return math.Pow(0.01, 1/slots) }

// scoreOptions are op-node's global parameters (its peer_params.go) for blocks of one second.
func scoreOptions(cfg config, book *scoreBook) []pubsub.Option {
	if cfg.Scoring == "none" {
		return nil
	}
	params := &pubsub.PeerScoreParams{
		Topics:                      map[string]*pubsub.TopicScoreParams{},
		TopicScoreCap:               34,
		AppSpecificScore:            func(peer.ID) float64 { return 0 },
		AppSpecificWeight:           1,
		IPColocationFactorWeight:    -35,
		IPColocationFactorThreshold: 10,
		BehaviourPenaltyWeight:      -16,
		BehaviourPenaltyThreshold:   6,
		BehaviourPenaltyDecay:       decay(60),
		DecayInterval:               slot,
		DecayToZero:                 0.01,
		RetainScore:                 600 * slot,
	}
	thresholds := &pubsub.PeerScoreThresholds{
		GossipThreshold: -10, PublishThreshold: -40, GraylistThreshold: -40,
		AcceptPXThreshold: 20, OpportunisticGraftThreshold: 0.05,
	}
	return []pubsub.Option{
		pubsub.WithPeerScore(params, thresholds),
		pubsub.WithPeerScoreInspect(book.set, 200*time.Millisecond),
	}
}

// silentTopicParams are those by which op-node of 2024 scores the topic of blocks before Canyon, but active after two
// seconds and not after four epochs.
func silentTopicParams() *pubsub.TopicScoreParams {
	return &pubsub.TopicScoreParams{
		TopicWeight:       0.8,
		TimeInMeshWeight:  10.0 / 3600,
		TimeInMeshQuantum: slot, TimeInMeshCap: 3600,
		FirstMessageDeliveriesWeight: 1, FirstMessageDeliveriesDecay: decay(120), FirstMessageDeliveriesCap: 23,
		MeshMessageDeliveriesWeight: -0.7, MeshMessageDeliveriesDecay: decay(30), MeshMessageDeliveriesCap: 30,
		MeshMessageDeliveriesThreshold: 3, MeshMessageDeliveriesWindow: 2 * time.Second,
		MeshMessageDeliveriesActivation: 2 * time.Second,
		MeshFailurePenaltyWeight:        -0.7, MeshFailurePenaltyDecay: decay(30),
		InvalidMessageDeliveriesWeight: -140.4475, InvalidMessageDeliveriesDecay: decay(300),
	}
}

type peerScore struct {
	Total            float64 `json:"total"`
	BehaviourPenalty float64 `json:"behaviourPenalty"`
}

// scoreBook holds what the router last said of each peer.
type scoreBook struct {
	lock   sync.Mutex
	scores map[string]peerScore
}

func newScoreBook() *scoreBook { return &scoreBook{scores: map[string]peerScore{}} }

func (b *scoreBook) set(snapshots map[peer.ID]*pubsub.PeerScoreSnapshot) {
	scores := make(map[string]peerScore, len(snapshots))
	for id, snapshot := range snapshots {
		scores[id.String()] = peerScore{Total: snapshot.Score, BehaviourPenalty: snapshot.BehaviourPenalty}
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	b.scores = scores
}

func (b *scoreBook) latest() map[string]peerScore {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.scores
}
