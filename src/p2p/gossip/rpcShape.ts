import { DecodeError } from '../../lib/errors.ts'

/** Protobuf wire types (Protocol Buffers: "Message Structure"). Groups are deprecated. */
const VARINT = 0
const FIXED64 = 1
/** A length, then that many bytes. */
const BYTES = 2
const FIXED32 = 5
/**
 * Bytes of a key, a length or a flag. For a longer varint the library reads ten bytes, whatever its real length.
 */
const SHORT_VARINT = 5
/** Bytes of any other number: a negative one takes ten. */
const LONG_VARINT = 10

/**
 * Limit of protobuf fields in one RPC, nested fields included: an IHAVE of 5000 ids for each of the four topics,
 * doubled. Decoding them takes about 5 ms.
 */
export const MAX_RPC_FIELDS = 40_000
/** Ids of this network have 20 bytes, ids elsewhere at most 32. The library keeps ids as text for seconds. */
export const MAX_ID_BYTES = 64

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
  while (walk.at < end) {
    const key = nextKey(walk)
    const member = shape[key >>> 3]
    if (member === undefined) {
      skip(walk, key & 7, end)
      continue
    }
    // The library ignores the wire type of a known field.
    const wireType = member === FLAG || member === NUMBER ? VARINT : BYTES
    if ((key & 7) !== wireType) throw new DecodeError(`rpc: wire type ${key & 7}, expected ${wireType}`)
    checkMember(walk, end, member)
  }
}

function checkMember(walk: Walk, end: number, member: Member): void {
  if (member === FLAG || member === NUMBER) {
    nextVarint(walk, member === FLAG ? SHORT_VARINT : LONG_VARINT)
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

function nextVarint(walk: Walk, maxBytes: number = SHORT_VARINT): number {
  let value = 0
  for (let shift = 0; shift < maxBytes; shift++) {
    const byte = walk.bytes[walk.at]
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
  else if (wireType === VARINT) nextVarint(walk, LONG_VARINT)
  else if (wireType === FIXED64) walk.at += 8
  else if (wireType === FIXED32) walk.at += 4
  else throw new DecodeError(`rpc: wire type ${wireType}`)
  if (walk.at > end) throw new DecodeError('rpc: a field is longer than its container')
}
