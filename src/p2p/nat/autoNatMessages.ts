import { DecodeError } from '../../lib/errors.ts'
import { ByteWriter } from '../../rollup/protocol/byteWriter.ts'
import { BYTES, FIXED32, FIXED64, VARINT } from '../wireTypes.ts'

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
  const response = new ByteWriter()
  writeNumber(response, RESPONSE.status, status)
  if (text !== undefined) writeBytes(response, RESPONSE.text, Buffer.from(text))
  if (address !== undefined) writeBytes(response, RESPONSE.address, address)
  const message = new ByteWriter()
  writeNumber(message, MESSAGE.type, DIAL_RESPONSE)
  writeBytes(message, MESSAGE.dialResponse, response.view())
  const answer = new ByteWriter()
  writeWithLength(answer, message.view())
  return answer.view()
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

function writeNumber(writer: ByteWriter, key: number, value: number): void {
  writer.uvarint(key * 8 + VARINT)
  writer.uvarint(value)
}

function writeBytes(writer: ByteWriter, key: number, value: Uint8Array): void {
  writer.uvarint(key * 8 + BYTES)
  writeWithLength(writer, value)
}

function writeWithLength(writer: ByteWriter, value: Uint8Array): void {
  writer.uvarint(value.length)
  writer.bytes(value)
}
