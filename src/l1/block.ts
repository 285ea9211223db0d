import { type Hex, normalizeHex } from '../lib/hex.ts'
import { blockHeaderFromJson, blockHeaderHash } from '../rollup/protocol/index.ts'
import type { L1BlockInfo } from '../rollup/protocol/types.ts'
import { badAnswer } from './errors.ts'
import { asArray, asObject } from './json.ts'

/** A block as `eth_getBlockBy…` answers it. */
export interface ParsedBlock {
  info: L1BlockInfo
  transactionsRoot: Hex
  receiptsRoot: Hex
  stateRoot: Hex
  logsBloom: Hex
  /** Hashes or whole transactions, as asked for. */
  transactions: readonly unknown[]
}

/** Reads a block. Unless trusted, its hash must be that of its header (L1Error `l1-bad-answer`). Throws DecodeError. */
export function parseBlock(json: unknown, trust: boolean): ParsedBlock {
  const object = asObject(json, 'block')
  const hash = normalizeHex(object.hash, 32, 'block hash')
  const header = blockHeaderFromJson(json)
  if (!trust) {
    const actual = blockHeaderHash(header)
    if (actual !== hash) throw badAnswer(`L1 block ${hash}: its header has hash ${actual}`)
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
    transactions: asArray(object.transactions, 'block transactions'),
  }
}
