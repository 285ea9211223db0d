import { DecodeError } from '../../lib/errors.ts'

/** Protobuf wire types (Protocol Buffers: "Message Structure"). Groups are deprecated. */
const VARINT = 0
const FIXED64 = 1
/** A length, then that many bytes. */
const BYTES = 2
const FIXED32 = 5

/**
 * Limit of protobuf fields in one RPC, nested fields included: an IHAVE of 5000 ids for each of the four topics,
 * doubled. Decoding them takes about 5 ms.
 */
export const MAX_RPC_FIELDS = 40_000
/** Ids of this network have 20 bytes, ids elsewhere at most 32. The library keeps ids as text for seconds. */
export const MAX_ID_BYTES = 64
/** Control messages of one kind: an honest peer sends one for each of the four topics. */
export const MAX_CONTROL_MESSAGES = 64

/** The library's type of a field. `FLAG`: a 32-bit number. */
const FLAG = 1
const NUMBER = 2
const TEXT = 3
const ID = 4
type Member = typeof FLAG | typeof NUMBER | typeof TEXT | typeof ID | Shape
/** Indexed by field number. The library skips other fields. */
type Shape = readonly (Member | undefined)[]

/** libp2p specs: pubsub/gossipsub-v1.2, "Protobuf". */
const SUBSCRIPTION: Shape = [undefined, FLAG, TEXT]
const MESSAGE: Shape = [undefined, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT]
const IHAVE: Shape = [undefined, TEXT, ID]
const IDS: Shape = [undefined, ID]
const GRAFT: Shape = [undefined, TEXT]
const PEER_INFO: Shape = [undefined, TEXT, TEXT]
const PRUNE: Shape = [undefined, TEXT, PEER_INFO, NUMBER]
/** IWANT and IDONTWANT contain only ids. */
const CONTROL: Shape = [undefined, IHAVE, IDS, GRAFT, PRUNE, IDS]
const RPC: Shape = [undefined, SUBSCRIPTION, MESSAGE, CONTROL]

interface Walk {
  readonly bytes: Uint8Array
  at: number
  left: number
}

/**
 * Checks the structure of an RPC without decoding it, so that the bytes of an unauthenticated peer cannot make the
 * decoder allocate out of proportion. 10 MiB of empty ids would keep the decoder busy for seconds. Returns the number
 * of fields. Throws DecodeError, also where the library would parse the bytes differently.
 */
export function checkRpcShape(bytes: Uint8Array): number {
  const walk: Walk = { bytes, at: 0, left: MAX_RPC_FIELDS }
  checkMembers(walk, bytes.length, RPC)
  return MAX_RPC_FIELDS - walk.left
}

function checkMembers(walk: Walk, end: number, shape: Shape): void {
  const counts = shape === CONTROL ? CONTROL.map(() => 0) : undefined
  while (walk.at < end) {
    const key = nextKey(walk)
    const field = key >>> 3
    const member = field < shape.length ? shape[field] : undefined
    if (member === undefined) {
      skip(walk, key & 7, end)
      continue
    }
    if (counts !== undefined) count(counts, field)
    // The library ignores the wire type of a known field.
    const wireType = member === FLAG || member === NUMBER ? VARINT : BYTES
    if ((key & 7) !== wireType) throw new DecodeError(`rpc: wire type ${key & 7}, expected ${wireType}`)
    checkMember(walk, end, member)
  }
}

function count(counts: number[], kind: number): void {
  const next = (counts[kind] ?? 0) + 1
  if (next > MAX_CONTROL_MESSAGES) {
    throw new DecodeError(`rpc: more than ${MAX_CONTROL_MESSAGES} control messages of one kind`)
  }
  counts[kind] = next
}

function checkMember(walk: Walk, end: number, member: Member): void {
  if (member === FLAG || member === NUMBER) {
    if (member === FLAG) nextVarint(walk)
    else skipVarint(walk)
    if (walk.at > end) throw new DecodeError('rpc: a field is longer than its container')
    return
  }
  const memberEnd = nextLength(walk, end)
  if (member === ID) {
    if (memberEnd - walk.at > MAX_ID_BYTES) {
      throw new DecodeError(`rpc: a message id of more than ${MAX_ID_BYTES} bytes`)
    }
  } else if (member !== TEXT) checkMembers(walk, memberEnd, member)
  walk.at = memberEnd
}

function nextKey(walk: Walk): number {
  walk.left -= 1
  if (walk.left < 0) throw new DecodeError(`rpc: more than ${MAX_RPC_FIELDS} fields`)
  const key = nextVarint(walk)
  if (key > 0xffffffff) throw new DecodeError('rpc: a field number is too large')
  return key
}

/**
 * A key, a length or a flag. For a varint of more than five bytes the library reads ten bytes, whatever its real
 * length.
 */
function nextVarint(walk: Walk): number {
  const { bytes } = walk
  const first = bytes[walk.at]
  if (first !== undefined && first < 0x80) {
    walk.at += 1
    return first
  }
  let value = 0
  for (let shift = 0; shift < 5; shift++) {
    const byte = bytes[walk.at]
    if (byte === undefined) throw new DecodeError('rpc: ends inside a number')
    walk.at += 1
    value += (byte & 0x7f) * 2 ** (7 * shift)
    if (byte < 0x80) return value
  }
  throw new DecodeError('rpc: a number is too large')
}

/** Offset of the end of the length-prefixed bytes that begin here. */
function nextLength(walk: Walk, end: number): number {
  const length = nextVarint(walk)
  if (length > end - walk.at) throw new DecodeError('rpc: a field is longer than its container')
  return walk.at + length
}

function skip(walk: Walk, wireType: number, end: number): void {
  if (wireType === BYTES) walk.at = nextLength(walk, end)
  else if (wireType === VARINT) skipVarint(walk)
  else if (wireType === FIXED64) walk.at += 8
  else if (wireType === FIXED32) walk.at += 4
  else throw new DecodeError(`rpc: wire type ${wireType}`)
  if (walk.at > end) throw new DecodeError('rpc: a field is longer than its container')
}

/** A negative number takes ten bytes. */
function skipVarint(walk: Walk): void {
  for (let count = 0; count < 10; count++) {
    const byte = walk.bytes[walk.at]
    if (byte === undefined) throw new DecodeError('rpc: ends inside a number')
    walk.at += 1
    if (byte < 0x80) return
  }
  throw new DecodeError('rpc: a number is too large')
}
