import { RPC } from '@chainsafe/libp2p-gossipsub/message'
import { concatBytes } from '../../lib/bytes.ts'
import { ByteWriter } from '../../rollup/protocol/byteWriter.ts'

/** The fields of a gossipsub RPC, in any combination. */
export interface AnyRpc {
  /** Topic, and true for a subscription or false for its end. */
  subscriptions?: readonly (readonly [topic: string, subscribe: boolean])[]
  messages?: readonly RPC.Message[]
  /** One list of ids for each control message. */
  ihave?: readonly (readonly Uint8Array[])[]
  iwant?: readonly (readonly Uint8Array[])[]
  idontwant?: readonly (readonly Uint8Array[])[]
  /** Topics. */
  graft?: readonly string[]
  /** Topic, and backoff in seconds. */
  prune?: readonly (readonly [topic: string, backoffS: number])[]
  /** Topic of the IHAVEs. */
  topic?: string
}

export function encodeRpc(rpc: AnyRpc): Uint8Array {
  const { subscriptions = [], messages = [], ihave = [], iwant = [], idontwant = [], graft = [], prune = [] } = rpc
  const hasControl = [ihave, iwant, idontwant, graft, prune].some((list) => list.length > 0)
  const control = {
    ihave: ihave.map((ids) => ({ topicID: rpc.topic ?? '', messageIDs: [...ids] })),
    iwant: iwant.map((ids) => ({ messageIDs: [...ids] })),
    graft: graft.map((topicID) => ({ topicID })),
    prune: prune.map(([topicID, backoff]) => ({ topicID, backoff, peers: [] })),
    idontwant: idontwant.map((ids) => ({ messageIDs: [...ids] })),
  }
  return RPC.encode({
    subscriptions: subscriptions.map(([topic, subscribe]) => ({ topic, subscribe })),
    messages: [...messages],
    ...(hasControl ? { control } : {}),
  })
}

/** Adds the length prefix that a stream needs. */
export function frameRpc(rpc: Uint8Array): Uint8Array {
  return concatBytes(varint(rpc.length), rpc)
}

export function varint(value: number): Uint8Array {
  const writer = new ByteWriter(10)
  writer.uvarint(value)
  return writer.view()
}
