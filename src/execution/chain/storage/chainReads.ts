import { bigIntToBytes, bytesToBigInt, bytesToText, concatBytes, EMPTY_BYTES, viewOf } from '../../../lib/bytes.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import type { StateStore } from '../../state/stateDatabase.ts'
import { bytesOfKey } from '../../state/stateKeys.ts'

export interface TransactionPosition {
  blockHash: Hex
  index: number
}

export interface CanonicalHeader {
  hash: Hex
  header: Uint8Array
}

export interface BlockReads {
  header(hash: Hex): Uint8Array | undefined
  body(hash: Hex): Uint8Array | undefined
  receipts(hash: Hex): Uint8Array | undefined
  canonicalHash(number: number): Hex | undefined
  transaction(hash: Hex): TransactionPosition | undefined
  /** Canonical blocks from a number on. Present where one read of many costs less than many reads. */
  canonicalHeaders?(first: number): CanonicalHeader[]
}

/** Most headers of one read: the engine process spends about a millisecond on them. */
const HEADERS_AT_ONCE = 32

/** All reads of a chain database: states and blocks. */
export type ChainReads = StateStore & BlockReads

/** The read for each request kind, which is the first byte of a request. The rest of the request is the key. */
const READS: ((chain: ChainReads, key: Uint8Array) => Uint8Array | undefined)[] = [
  (chain, key) => {
    const [block, hash, place] = [key.subarray(0, 32), key.subarray(32, 64), key.subarray(64)]
    return chain.stateAt(toHex(block))?.node(bytesToText(place, 'latin1'), hash)
  },
  (chain, key) => chain.code(key),
  (chain, key) => chain.header(toHex(key)),
  (chain, key) => chain.body(toHex(key)),
  (chain, key) => chain.receipts(toHex(key)),
  (chain, key) => {
    const hash = chain.canonicalHash(Number(bytesToBigInt(key)))
    return hash === undefined ? undefined : fromHex(hash)
  },
  (chain, key) => {
    const position = chain.transaction(toHex(key))
    return position === undefined ? undefined : encodePosition(position)
  },
  (chain, key) => (chain.stateAt(toHex(key)) === undefined ? undefined : EMPTY_BYTES),
  (chain, key) => encodeHeaders(chain, Number(bytesToBigInt(key))),
]

export function answerChainRead(chain: ChainReads, request: Uint8Array): Uint8Array | undefined {
  const read = READS[request[0] ?? READS.length]
  if (read === undefined) throw new RangeError(`unknown read kind ${request[0]}`)
  return read(chain, request.subarray(1))
}

/** Reads a chain through `send`, which passes requests to another process. */
export function readOverChannel(send: (request: Uint8Array) => Uint8Array | undefined): ChainReads {
  const read = (kind: number, key: Uint8Array) => send(concatBytes(Uint8Array.of(kind), key))
  return {
    // Accounts and slots are read from the tries: later states share their nodes.
    stateAt(blockHash) {
      const block = fromHex(blockHash, 32)
      return {
        node: (key, hash) => read(0, concatBytes(block, hash, bytesOfKey(key))),
        leaf: () => undefined,
        isPruned: () => read(7, block) === undefined,
      }
    },
    code: (hash) => read(1, hash),
    header: (hash) => read(2, fromHex(hash, 32)),
    body: (hash) => read(3, fromHex(hash, 32)),
    receipts: (hash) => read(4, fromHex(hash, 32)),
    canonicalHash(number) {
      const hash = read(5, bigIntToBytes(BigInt(number), 8))
      return hash === undefined ? undefined : toHex(hash)
    },
    transaction(hash) {
      const position = read(6, fromHex(hash, 32))
      return position === undefined ? undefined : decodePosition(position)
    },
    canonicalHeaders: (first) => decodeHeaders(read(8, bigIntToBytes(BigInt(first), 8)) ?? EMPTY_BYTES),
  }
}

/** Of each block: its hash, the length of its header (u32), and the header. */
function encodeHeaders(chain: BlockReads, first: number): Uint8Array {
  const parts: Uint8Array[] = []
  for (let number = first; number < first + HEADERS_AT_ONCE; number++) {
    const hash = chain.canonicalHash(number)
    const header = hash === undefined ? undefined : chain.header(hash)
    if (hash === undefined || header === undefined) break
    parts.push(fromHex(hash), bigIntToBytes(BigInt(header.length), 4), header)
  }
  return concatBytes(...parts)
}

function decodeHeaders(bytes: Uint8Array): CanonicalHeader[] {
  const headers: CanonicalHeader[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + 36 + viewOf(bytes).getUint32(at + 32)
    headers.push({ hash: toHex(bytes.subarray(at, at + 32)), header: bytes.slice(at + 36, end) })
    at = end
  }
  return headers
}

export function encodePosition({ blockHash, index }: TransactionPosition): Uint8Array {
  const bytes = new Uint8Array(36)
  bytes.set(fromHex(blockHash, 32))
  viewOf(bytes).setUint32(32, index)
  return bytes
}

export function decodePosition(bytes: Uint8Array): TransactionPosition {
  return { blockHash: toHex(bytes.subarray(0, 32)), index: viewOf(bytes).getUint32(32) }
}
