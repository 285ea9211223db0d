import { DecodeError } from '../../lib/errors.ts'

/** What a peer asks: to be dialled at some of these addresses. */
export interface DialRequest {
  /** Of the peer that is to be dialled: multihash. */
  id: Uint8Array | undefined
  /** Multiaddresses, as bytes. */
  addresses: Uint8Array[]
}

/** libp2p specs, autonat-v1: "ResponseStatus". */
export const STATUS = { ok: 0, dialError: 100, dialRefused: 101, badRequest: 200 } as const
export type Status = (typeof STATUS)[keyof typeof STATUS]

export interface DialAnswer {
  status: Status
  text?: string
  /** The address that answered, as bytes. */
  address?: Uint8Array
}

const DIAL = 0
const DIAL_RESPONSE = 1
/** Members of `Message`, of `Dial`, of `PeerInfo` and of `DialResponse` (libp2p specs, autonat-v1: "RPC messages"). */
const MESSAGE = { type: 1, dial: 2, dialResponse: 3 } as const
const PEER = 1
const PEER_INFO = { id: 1, addresses: 2 } as const
const RESPONSE = { status: 1, text: 2, address: 3 } as const

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Undefined: a request that does not say who is to be dialled. Throws DecodeError. */
export function decodeDialRequest(bytes: Uint8Array): DialRequest | undefined {
  const message = membersOf(bytes)
  if (message.some(({ key, value }) => key === MESSAGE.type && value !== DIAL)) {
    throw new DecodeError('autonat: not a request')
  }
  const peer = last(membersOf(last(message, MESSAGE.dial) ?? new Uint8Array()), PEER)
  if (peer === undefined) return undefined
  const info = membersOf(peer)
  const addresses = info.flatMap(({ key, value }) =>
    key === PEER_INFO.addresses && typeof value !== 'number' ? [value] : [],
  )
  return { id: last(info, PEER_INFO.id), addresses }
}

/** With its length in front. */
export function encodeDialAnswer({ status, text, address }: DialAnswer): Uint8Array {
  const response = [
    ...varint(RESPONSE.status * 8 + VARINT),
    ...varint(status),
    ...(text === undefined ? [] : field(RESPONSE.text, Buffer.from(text))),
    ...(address === undefined ? [] : field(RESPONSE.address, address)),
  ]
  const type = [...varint(MESSAGE.type * 8 + VARINT), DIAL_RESPONSE]
  const message = [...type, ...field(MESSAGE.dialResponse, response)]
  return Uint8Array.from([...varint(message.length), ...message])
}

interface Member {
  key: number
  value: Uint8Array | number
}

/** The members of a protobuf message, in order. Throws DecodeError. */
function membersOf(bytes: Uint8Array): Member[] {
  const members: Member[] = []
  let at = 0
  const number = (): number => {
    let value = 0
    for (let shift = 0; shift < 10; shift++) {
      const byte = bytes[at++]
      if (byte === undefined) throw new DecodeError('autonat: ends inside a number')
      value += (byte & 0x7f) * 2 ** (7 * shift)
      if (byte < 0x80) return value
    }
    throw new DecodeError('autonat: a number is too large')
  }
  const take = (length: number): Uint8Array => {
    if (length > bytes.length - at) throw new DecodeError('autonat: a member is longer than what holds it')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = number()
    const key = Math.floor(tag / 8)
    const wireType = tag % 8
    if (wireType === VARINT) members.push({ key, value: number() })
    else if (wireType === BYTES) members.push({ key, value: take(number()) })
    else if (wireType === FIXED64 || wireType === FIXED32) take(wireType === FIXED64 ? 8 : 4)
    else throw new DecodeError(`autonat: wire type ${wireType}`)
  }
  return members
}

/** Of a member that is there more than once, the last counts. */
function last(members: readonly Member[], key: number): Uint8Array | undefined {
  const value = members.findLast((member) => member.key === key)?.value
  return typeof value === 'number' ? undefined : value
}

function field(key: number, value: ArrayLike<number>): number[] {
  return [...varint(key * 8 + BYTES), ...varint(value.length), ...Array.from(value)]
}

function varint(value: number): number[] {
  const groups: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...groups, rest]
    groups.push((rest % 128) + 128)
  }
}
