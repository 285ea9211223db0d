import type { Hex } from '../lib/hex.ts'
import { JsonObjectReader } from '../lib/jsonReader.ts'
import { blockHeaderFromJson, blockHeaderHash, HEADER_JSON_NAMES } from '../rollup/protocol/index.ts'
import type { L1BlockInfo, L1BlockRef } from '../rollup/protocol/types.ts'
import { badAnswer, L1Error } from './errors.ts'

/** A block as `eth_getBlockBy…` returns it. */
export interface ParsedBlock {
  info: L1BlockInfo
  transactionsRoot: Hex
  receiptsRoot: Hex
  stateRoot: Hex
  logsBloom: Hex
  /** Hashes or full transactions, depending on the request. */
  transactions: readonly unknown[]
}

/** Members of a block's JSON that are not header fields. */
const NO_HEADER_FIELDS = ['hash', 'size', 'totalDifficulty', 'transactions', 'uncles', 'withdrawals']
/** Limits for the error message, because an endpoint may return any names. */
const MAX_NAMES = 5
const MAX_NAME_LENGTH = 40
const KNOWN_MEMBERS: ReadonlySet<string> = new Set([...HEADER_JSON_NAMES, ...NO_HEADER_FIELDS])

/**
 * Parses a block. Unless the endpoint is trusted, the block's hash must be the hash of its header.
 * Throws L1Error `l1-bad-answer` for a wrong hash, or `l1-unknown-fork` if the block has fields that this version
 * cannot hash. Throws DecodeError for malformed JSON.
 */
export function parseBlock(json: unknown, trust: boolean): ParsedBlock {
  const object = new JsonObjectReader(json, 'block')
  const hash = object.hex('hash', 32)
  const header = blockHeaderFromJson(json)
  if (!trust) {
    const actual = blockHeaderHash(header)
    if (actual !== hash) throw wrongHash(object, `L1 block ${header.number} ${hash}`, actual)
  }
  const info: L1BlockInfo = {
    hash,
    number: header.number,
    parentHash: header.parentHash,
    timestamp: header.timestamp,
    mixHash: header.mixHash,
    baseFeePerGas: header.baseFeePerGas ?? 0n,
  }
  if (header.excessBlobGas !== undefined) info.excessBlobGas = header.excessBlobGas
  if (header.parentBeaconBlockRoot !== undefined) info.parentBeaconBlockRoot = header.parentBeaconBlockRoot
  return {
    info,
    transactionsRoot: header.transactionsRoot,
    receiptsRoot: header.receiptsRoot,
    stateRoot: header.stateRoot,
    logsBloom: header.logsBloom,
    transactions: object.array('transactions'),
  }
}

export function toL1BlockRef({ hash, number, parentHash, timestamp }: L1BlockInfo): L1BlockRef {
  return { hash, number, parentHash, timestamp }
}

function wrongHash(block: JsonObjectReader, name: string, actual: Hex): L1Error {
  const unknown = block.names().filter((member) => block.has(member) && !KNOWN_MEMBERS.has(member))
  if (unknown.length === 0) return badAnswer(`${name}: its header has hash ${actual}`)
  const shown = unknown.slice(0, MAX_NAMES).map((member) => member.slice(0, MAX_NAME_LENGTH))
  return new L1Error(
    'l1-unknown-fork',
    `${name} has fields that this version of devium does not know (${shown.join(', ')}): L1 has activated a fork that needs a newer version of devium`,
  )
}
