import { RPC } from '@chainsafe/libp2p-gossipsub/message'
import { DecodeError, describeError } from '../../lib/errors.ts'
import type { PayloadVersion } from '../base/topics.ts'
import type { PeerQuotas } from '../quotas/quotas.ts'
import type { DecodedRpc, GossipInternals } from './adapter.ts'
import { RPC_LIMITS } from './params.ts'
import { checkRpcShape } from './rpcShape.ts'

export interface GuardModules {
  gossip: { score: Pick<GossipInternals['score'], 'score' | 'rejectInvalidMessage'> }
  quotas: Pick<PeerQuotas, 'spend' | 'drop' | 'report'>
  /** Undefined for topics of other chains. */
  versionOf(topic: string): PayloadVersion | undefined
  /** Called for a message on a block topic that names its author. */
  onAuthor(peerId: string, version: PayloadVersion): void
}

/** Returns an RPC that is within its peer's budgets; undefined: drop it. Throws only on faults of this node. */
export type RpcGuard = (peerId: string, frame: Uint8Array) => DecodedRpc | undefined

/** Seconds. A peer that wants a longer backoff may send another PRUNE. */
const MAX_BACKOFF_S = 3_600
/** Accepted ids of one IHAVE. An honest peer announces the blocks of the last 1.5 s. */
const MAX_IHAVE_IDS = 250
/** A dropped RPC counts once more for each this many fields. */
const FIELDS_PER_DROP = 50

/** Accepts only RPCs that decode and are within the peer's budgets. */
export function createRpcGuard(modules: GuardModules, options: { graylistThreshold: number }): RpcGuard {
  const { gossip, quotas } = modules

  const decode = (id: string, frame: Uint8Array): DecodedRpc | undefined => {
    const fields = checkRpcShape(frame)
    if (!quotas.spend(id, 'fields', fields)) {
      quotas.drop(id, 'rpc-flood', 1 + Math.floor(fields / FIELDS_PER_DROP))
      return undefined
    }
    try {
      return RPC.decode(frame, { limits: RPC_LIMITS })
    } catch (cause) {
      throw new DecodeError(`rpc: ${describeError(cause)}`, { cause })
    }
  }
  /** Only malformed bytes penalise a peer. */
  const decodeOrPenalise: RpcGuard = (id, frame) => {
    try {
      return decode(id, frame)
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error
      quotas.report(id, 'bad-rpc', error.message)
      return undefined
    }
  }
  /** The library checks three of the four fields, and would forward a `from`. */
  const dropAuthors = (id: string, rpc: DecodedRpc): void => {
    for (const { topic } of rpc.messages.filter(hasAuthor)) {
      const version = modules.versionOf(topic)
      if (version === undefined) continue
      gossip.score.rejectInvalidMessage(id, topic)
      modules.onAuthor(id, version)
    }
    rpc.messages = rpc.messages.filter((message) => !hasAuthor(message))
  }
  const limitSubscriptions = (id: string, rpc: DecodedRpc): void => {
    const count = rpc.subscriptions.length
    if (count === 0 || quotas.spend(id, 'subscriptions', count)) return
    quotas.drop(id, 'subscription-flood')
    rpc.subscriptions = []
  }

  return (id, frame) => {
    if (!quotas.spend(id, 'rpcs')) {
      quotas.drop(id, 'rpc-flood')
      return undefined
    }
    // The library would decode first, and it tolerates 128 RPCs a second from a peer whose score was good a second ago.
    if (gossip.score.score(id) < options.graylistThreshold) return undefined
    const rpc = decodeOrPenalise(id, frame)
    if (rpc === undefined) return undefined
    dropAuthors(id, rpc)
    limitSubscriptions(id, rpc)
    limitIds(rpc)
    for (const prune of rpc.control?.prune ?? []) {
      if (prune.backoff !== undefined && prune.backoff > MAX_BACKOFF_S) prune.backoff = MAX_BACKOFF_S
    }
    return rpc
  }
}

/** Each id is looked up and kept for the IWANT. The library's limit of 5000 takes ten milliseconds. */
function limitIds(rpc: DecodedRpc): void {
  let left = MAX_IHAVE_IDS
  for (const list of rpc.control?.ihave ?? []) {
    if (list.messageIDs.length > left) list.messageIDs = list.messageIDs.slice(0, left)
    left -= list.messageIDs.length
  }
}

function hasAuthor({ from, seqno, signature, key }: RPC.Message): boolean {
  return from !== undefined || seqno !== undefined || signature !== undefined || key !== undefined
}
