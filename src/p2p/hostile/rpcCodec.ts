/**
 * The fields of a gossipsub RPC (libp2p specs: pubsub/gossipsub-v1.2, "Protobuf"). `encodeRpc` accepts invalid
 * combinations too, which a library would refuse to send.
 */
export interface AnyRpc {
  /** Topic, and true for a subscription or false for its end. */
  subscriptions?: readonly (readonly [topic: string, subscribe: boolean])[]
  messages?: readonly AnyMessage[]
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

export interface AnyMessage {
  topic: string
  data?: Uint8Array
  from?: Uint8Array
  seqno?: Uint8Array
  signature?: Uint8Array
  key?: Uint8Array
}

export function encodeRpc(rpc: AnyRpc): Uint8Array {
  const { subscriptions = [], messages = [], topic = '' } = rpc
  const parts: Buffer[] = [
    ...subscriptions.map(([name, subscribe]) => field(1, number(1, subscribe ? 1 : 0), field(2, text(name)))),
    ...messages.map((message) => field(2, ...messageFields(message))),
  ]
  const control = [
    ...(rpc.ihave ?? []).map((list) => field(1, field(1, text(topic)), ...list.map((id) => field(2, id)))),
    ...(rpc.iwant ?? []).map((list) => field(2, ...list.map((id) => field(1, id)))),
    ...(rpc.graft ?? []).map((name) => field(3, field(1, text(name)))),
    ...(rpc.prune ?? []).map(([name, backoffS]) => field(4, field(1, text(name)), number(3, backoffS))),
    ...(rpc.idontwant ?? []).map((list) => field(5, ...list.map((id) => field(1, id)))),
  ]
  if (control.length > 0) parts.push(field(3, ...control))
  return new Uint8Array(Buffer.concat(parts))
}

/** Adds the length prefix that a stream needs. */
export function frameRpc(rpc: Uint8Array): Uint8Array {
  return new Uint8Array(Buffer.concat([varint(rpc.length), rpc]))
}

function messageFields(message: AnyMessage): Buffer[] {
  const { from, data, seqno, topic, signature, key } = message
  const optional: [number, Uint8Array | undefined][] = [
    [1, from],
    [2, data],
    [3, seqno],
    [4, text(topic)],
    [5, signature],
    [6, key],
  ]
  return optional.flatMap(([index, bytes]) => (bytes === undefined ? [] : [field(index, bytes)]))
}

function field(index: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([varint(index * 8 + 2), varint(body.length), body])
}

function number(index: number, value: number): Buffer {
  return Buffer.concat([varint(index * 8), varint(value)])
}

function text(value: string): Buffer {
  return Buffer.from(value, 'utf8')
}

export function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 0x80)
  bytes.push(rest)
  return Buffer.from(bytes)
}
