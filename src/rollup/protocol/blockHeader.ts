import { DecodeError } from '../../lib/errors.ts'
import { keccak256Hex } from '../../lib/hash.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import { decodeRlp, type RlpItem, rlpBigInt, rlpBytes, rlpList, rlpNumber } from '../../lib/rlp.ts'
import { RlpListWriter } from '../../lib/rlpWriter.ts'
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
  return writeHeader(header).slice()
}

export function blockHeaderHash(header: BlockHeader): Hex {
  return keccak256Hex(writeHeader(header))
}

const writer = new RlpListWriter()

/** The bytes are good until the next call. */
function writeHeader(header: BlockHeader): Uint8Array {
  writer.begin()
  writer.hex(header.parentHash, 32, 'parentHash')
  writer.hex(header.unclesHash, 32, 'unclesHash')
  writer.hex(header.coinbase, 20, 'coinbase')
  writer.hex(header.stateRoot, 32, 'stateRoot')
  writer.hex(header.transactionsRoot, 32, 'transactionsRoot')
  writer.hex(header.receiptsRoot, 32, 'receiptsRoot')
  writer.hex(header.logsBloom, 256, 'logsBloom')
  writer.integer(header.difficulty)
  writer.integer(header.number)
  writer.integer(header.gasLimit)
  writer.integer(header.gasUsed)
  writer.integer(header.timestamp)
  writer.hex(header.extraData, undefined, 'extraData')
  writer.hex(header.mixHash, 32, 'mixHash')
  writer.hex(header.nonce, 8, 'nonce')
  if (writeOptionalMembers(header) < presentMembers(header)) {
    throw new DecodeError('header: a member of a later fork is present without those before it')
  }
  return writer.finish()
}

/** Number of the optional members that were written: those before the first one that is absent. */
function writeOptionalMembers(header: BlockHeader): number {
  if (header.baseFeePerGas === undefined) return 0
  writer.integer(header.baseFeePerGas)
  if (header.withdrawalsRoot === undefined) return 1
  writer.hex(header.withdrawalsRoot, 32, 'withdrawalsRoot')
  if (header.blobGasUsed === undefined) return 2
  writer.integer(header.blobGasUsed)
  if (header.excessBlobGas === undefined) return 3
  writer.integer(header.excessBlobGas)
  if (header.parentBeaconBlockRoot === undefined) return 4
  writer.hex(header.parentBeaconBlockRoot, 32, 'parentBeaconBlockRoot')
  if (header.requestsHash === undefined) return 5
  writer.hex(header.requestsHash, 32, 'requestsHash')
  return 6
}

const OPTIONAL_MEMBERS = [
  'baseFeePerGas',
  'withdrawalsRoot',
  'blobGasUsed',
  'excessBlobGas',
  'parentBeaconBlockRoot',
  'requestsHash',
] as const

function presentMembers(header: BlockHeader): number {
  let present = 0
  for (const member of OPTIONAL_MEMBERS) if (header[member] !== undefined) present += 1
  return present
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
