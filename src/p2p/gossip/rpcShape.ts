import { DecodeError } from '../../lib/errors.ts'

/**
 * Protobuf fields of one RPC, however deep: an IHAVE of 5000 ids for each of the four topics, and as much again. Decoding
 * them takes some 5 ms.
 */
export const MAX_RPC_FIELDS = 40_000
/** Ids here have 20 bytes, anywhere at most a hash; the library keeps them as text for seconds. */
export const MAX_ID_BYTES = 64
/** Control messages of one kind: a peer sends one for each topic, and there are four. */
export const MAX_CONTROL_MESSAGES = 64

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Members of gossipsub's `RPC` and `ControlMessage` (libp2p specs: pubsub/gossipsub-v1.2, "Protobuf"). */
const CONTROL = 3
const IHAVE = 1
const IWANT = 2
const IDONTWANT = 5
/** Where the ids stand in each of the three. */
const IDS: Readonly<Record<number, number>> = { [IHAVE]: 2, [IWANT]: 1, [IDONTWANT]: 1 }

interface Walk {
  readonly bytes: Uint8Array
  at: number
  /** Fields still allowed. */
  left: number
}

/**
 * Looks at the outline of an RPC without taking anything out of it, so that no bytes of a stranger make the decoder
 * allocate more than they are worth: 10 MiB of empty ids would keep it busy for a second. Returns the number of fields.
 * Throws DecodeError.
 */
export function checkRpcShape(bytes: Uint8Array): number {
  const walk: Walk = { bytes, at: 0, left: MAX_RPC_FIELDS }
  while (walk.at < bytes.length) {
    const key = nextKey(walk)
    if (key === CONTROL * 8 + BYTES) checkControl(walk, nextLength(walk, bytes.length))
    else if ((key & 7) === BYTES && key >>> 3 <= 2) skipMessage(walk, nextLength(walk, bytes.length))
    else skip(walk, key & 7, bytes.length)
  }
  return MAX_RPC_FIELDS - walk.left
}

/** A subscription or a message: its members are few, and those that are not known count like the others. */
function skipMessage(walk: Walk, end: number): void {
  while (walk.at < end) skip(walk, nextKey(walk) & 7, end)
}

function checkControl(walk: Walk, end: number): void {
  const counts: Record<number, number> = {}
  while (walk.at < end) {
    const key = nextKey(walk)
    const kind = key >>> 3
    if ((key & 7) !== BYTES) {
      skip(walk, key & 7, end)
      continue
    }
    counts[kind] = (counts[kind] ?? 0) + 1
    if ((counts[kind] ?? 0) > MAX_CONTROL_MESSAGES) {
      throw new DecodeError(`rpc: more than ${MAX_CONTROL_MESSAGES} control messages of one kind`)
    }
    checkIds(walk, nextLength(walk, end), IDS[kind])
  }
}

function checkIds(walk: Walk, end: number, idField: number | undefined): void {
  while (walk.at < end) {
    const key = nextKey(walk)
    const start = walk.at
    skip(walk, key & 7, end)
    if (idField !== undefined && key === idField * 8 + BYTES && walk.at - start > MAX_ID_BYTES + 1) {
      throw new DecodeError(`rpc: a message id of more than ${MAX_ID_BYTES} bytes`)
    }
  }
}

function nextKey(walk: Walk): number {
  walk.left -= 1
  if (walk.left < 0) throw new DecodeError(`rpc: more than ${MAX_RPC_FIELDS} fields`)
  const key = nextVarint(walk)
  if (key > 0xffffffff) throw new DecodeError('rpc: a field number is too large')
  return key
}

/** Up to 2^53; what is longer is not a number that any field here may have. */
function nextVarint(walk: Walk): number {
  const { bytes } = walk
  const first = bytes[walk.at]
  if (first !== undefined && first < 0x80) {
    walk.at += 1
    return first
  }
  let value = 0
  for (let shift = 0; shift < 8; shift++) {
    const byte = bytes[walk.at]
    if (byte === undefined) throw new DecodeError('rpc: ends inside a number')
    walk.at += 1
    value += (byte & 0x7f) * 2 ** (7 * shift)
    if (byte < 0x80) {
      if (value > Number.MAX_SAFE_INTEGER) break
      return value
    }
  }
  throw new DecodeError('rpc: a number is too large')
}

/** Where the bytes that begin here end. */
function nextLength(walk: Walk, end: number): number {
  const length = nextVarint(walk)
  if (length > end - walk.at) throw new DecodeError('rpc: a member is longer than what holds it')
  return walk.at + length
}

function skip(walk: Walk, wireType: number, end: number): void {
  if (wireType === BYTES) walk.at = nextLength(walk, end)
  else if (wireType === VARINT) skipVarint(walk)
  else if (wireType === FIXED64) walk.at += 8
  else if (wireType === FIXED32) walk.at += 4
  else throw new DecodeError(`rpc: wire type ${wireType}`)
  if (walk.at > end) throw new DecodeError('rpc: a member is longer than what holds it')
}

/** A negative number has ten bytes. */
function skipVarint(walk: Walk): void {
  for (let count = 0; count < 10; count++) {
    const byte = walk.bytes[walk.at]
    if (byte === undefined) throw new DecodeError('rpc: ends inside a number')
    walk.at += 1
    if (byte < 0x80) return
  }
  throw new DecodeError('rpc: a number is too large')
}
