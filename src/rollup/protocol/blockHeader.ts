import { bigIntToMinimalBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { keccak256Hex } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { decodeRlp, encodeRlp, type RlpItem, rlpBigInt, rlpBytes, rlpList, rlpNumber } from '../../lib/rlp.ts'
import { JsonObjectReader } from './jsonReader.ts'

/** Header of an L1 or L2 block; the optional members appear with their fork, in this order. */
export interface BlockHeader {
  parentHash: Hex
  unclesHash: Hex
  /** Fee recipient. */
  coinbase: Hex
  stateRoot: Hex
  transactionsRoot: Hex
  receiptsRoot: Hex
  /** 256 bytes. */
  logsBloom: Hex
  difficulty: bigint
  number: number
  gasLimit: bigint
  gasUsed: bigint
  timestamp: number
  extraData: Hex
  /** prevRandao. */
  mixHash: Hex
  /** 8 bytes. */
  nonce: Hex
  /** London. */
  baseFeePerGas?: bigint
  /** Shanghai / Canyon; the message passer's storage root from Isthmus. */
  withdrawalsRoot?: Hex
  /** Cancun / Ecotone; the DA footprint from Jovian. */
  blobGasUsed?: bigint
  excessBlobGas?: bigint
  parentBeaconBlockRoot?: Hex
  /** Prague / Isthmus. */
  requestsHash?: Hex
}

/** Consensus encoding. Throws DecodeError when an optional member is present although one before it is absent. */
export function encodeBlockHeader(header: BlockHeader): Uint8Array {
  const fields = [
    fromHex(header.parentHash, 32, 'parentHash'),
    fromHex(header.unclesHash, 32, 'unclesHash'),
    fromHex(header.coinbase, 20, 'coinbase'),
    fromHex(header.stateRoot, 32, 'stateRoot'),
    fromHex(header.transactionsRoot, 32, 'transactionsRoot'),
    fromHex(header.receiptsRoot, 32, 'receiptsRoot'),
    fromHex(header.logsBloom, 256, 'logsBloom'),
    bigIntToMinimalBytes(header.difficulty),
    bigIntToMinimalBytes(header.number),
    bigIntToMinimalBytes(header.gasLimit),
    bigIntToMinimalBytes(header.gasUsed),
    bigIntToMinimalBytes(header.timestamp),
    fromHex(header.extraData, undefined, 'extraData'),
    fromHex(header.mixHash, 32, 'mixHash'),
    fromHex(header.nonce, 8, 'nonce'),
  ]
  const optional = [
    optionalInteger(header.baseFeePerGas),
    optionalHash(header.withdrawalsRoot, 'withdrawalsRoot'),
    optionalInteger(header.blobGasUsed),
    optionalInteger(header.excessBlobGas),
    optionalHash(header.parentBeaconBlockRoot, 'parentBeaconBlockRoot'),
    optionalHash(header.requestsHash, 'requestsHash'),
  ]
  let hasGap = false
  for (const field of optional) {
    if (field === undefined) hasGap = true
    else if (hasGap) throw new DecodeError('header: a member of a later fork is present without those before it')
    else fields.push(field)
  }
  return encodeRlp(fields)
}

export function blockHeaderHash(header: BlockHeader): Hex {
  return keccak256Hex(encodeBlockHeader(header))
}

/** Throws DecodeError. */
export function decodeBlockHeader(encoded: Uint8Array): BlockHeader {
  const fields = rlpList(decodeRlp(encoded), 'header')
  if (fields.length < 15 || fields.length > 21) throw new DecodeError(`header: ${fields.length} fields`)
  const hash = (index: number, what: string) => toHex(rlpBytes(fields[index], `header ${what}`, 32))
  const header: BlockHeader = {
    parentHash: hash(0, 'parentHash'),
    unclesHash: hash(1, 'unclesHash'),
    coinbase: toHex(rlpBytes(fields[2], 'header coinbase', 20)),
    stateRoot: hash(3, 'stateRoot'),
    transactionsRoot: hash(4, 'transactionsRoot'),
    receiptsRoot: hash(5, 'receiptsRoot'),
    logsBloom: toHex(rlpBytes(fields[6], 'header logsBloom', 256)),
    difficulty: rlpBigInt(fields[7], 'header difficulty'),
    number: rlpNumber(fields[8], 'header number'),
    gasLimit: rlpBigInt(fields[9], 'header gasLimit', 8),
    gasUsed: rlpBigInt(fields[10], 'header gasUsed', 8),
    timestamp: rlpNumber(fields[11], 'header timestamp'),
    extraData: toHex(rlpBytes(fields[12], 'header extraData')),
    mixHash: hash(13, 'mixHash'),
    nonce: toHex(rlpBytes(fields[14], 'header nonce', 8)),
  }
  decodeOptionalFields(header, fields)
  return header
}

function decodeOptionalFields(header: BlockHeader, fields: readonly RlpItem[]): void {
  const hash = (index: number, what: string) => toHex(rlpBytes(fields[index], `header ${what}`, 32))
  if (fields.length > 15) header.baseFeePerGas = rlpBigInt(fields[15], 'header baseFeePerGas')
  if (fields.length > 16) header.withdrawalsRoot = hash(16, 'withdrawalsRoot')
  if (fields.length > 17) header.blobGasUsed = rlpBigInt(fields[17], 'header blobGasUsed', 8)
  if (fields.length > 18) header.excessBlobGas = rlpBigInt(fields[18], 'header excessBlobGas', 8)
  if (fields.length > 19) header.parentBeaconBlockRoot = hash(19, 'parentBeaconBlockRoot')
  if (fields.length > 20) header.requestsHash = hash(20, 'requestsHash')
}

/** Header members of a block as JSON-RPC returns it (`eth_getBlockBy…`). Throws DecodeError. */
export function blockHeaderFromJson(json: unknown): BlockHeader {
  const block = new JsonObjectReader(json, 'block')
  const header: BlockHeader = {
    parentHash: block.hex('parentHash', 32),
    unclesHash: block.hex('sha3Uncles', 32),
    coinbase: block.hex('miner', 20),
    stateRoot: block.hex('stateRoot', 32),
    transactionsRoot: block.hex('transactionsRoot', 32),
    receiptsRoot: block.hex('receiptsRoot', 32),
    logsBloom: block.hex('logsBloom', 256),
    difficulty: block.quantity('difficulty'),
    number: block.quantityNumber('number'),
    gasLimit: block.quantity('gasLimit'),
    gasUsed: block.quantity('gasUsed'),
    timestamp: block.quantityNumber('timestamp'),
    extraData: toHex(block.bytes('extraData')),
    mixHash: block.hex('mixHash', 32),
    nonce: block.hex('nonce', 8),
  }
  const baseFeePerGas = block.optionalQuantity('baseFeePerGas')
  if (baseFeePerGas !== undefined) header.baseFeePerGas = baseFeePerGas
  const withdrawalsRoot = block.optionalHex('withdrawalsRoot', 32)
  if (withdrawalsRoot !== undefined) header.withdrawalsRoot = withdrawalsRoot
  const blobGasUsed = block.optionalQuantity('blobGasUsed')
  if (blobGasUsed !== undefined) header.blobGasUsed = blobGasUsed
  const excessBlobGas = block.optionalQuantity('excessBlobGas')
  if (excessBlobGas !== undefined) header.excessBlobGas = excessBlobGas
  const parentBeaconBlockRoot = block.optionalHex('parentBeaconBlockRoot', 32)
  if (parentBeaconBlockRoot !== undefined) header.parentBeaconBlockRoot = parentBeaconBlockRoot
  const requestsHash = block.optionalHex('requestsHash', 32)
  if (requestsHash !== undefined) header.requestsHash = requestsHash
  return header
}

function optionalInteger(value: bigint | undefined): Uint8Array | undefined {
  return value === undefined ? undefined : bigIntToMinimalBytes(value)
}

function optionalHash(value: Hex | undefined, what: string): Uint8Array | undefined {
  return value === undefined ? undefined : fromHex(value, 32, what)
}
