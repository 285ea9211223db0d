import { DecodeError } from '../../../lib/errors.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { JsonObjectReader } from '../../../lib/jsonReader.ts'
import {
  decodeRlp,
  encodeRlp,
  type RlpInput,
  type RlpItem,
  rlpBigInt,
  rlpBytes,
  rlpList,
  rlpNumber,
} from '../../../lib/rlp.ts'

/** Header of an L1 or L2 block. Each optional member exists since its fork, in this order. */
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
  /** Since London. */
  baseFeePerGas?: bigint
  /** Since Shanghai / Canyon. Since Isthmus: the message passer's storage root. */
  withdrawalsRoot?: Hex
  /** Since Cancun / Ecotone. Since Jovian: the DA footprint. */
  blobGasUsed?: bigint
  excessBlobGas?: bigint
  parentBeaconBlockRoot?: Hex
  /** Since Prague / Isthmus. */
  requestsHash?: Hex
  /** Since Glamsterdam (EIP-7928); on L1 only. */
  blockAccessListHash?: Hex
  /** The beacon chain's slot, since Glamsterdam (EIP-7843); on L1 only. */
  slotNumber?: number
}

/** Consensus encoding. Throws DecodeError if an optional member is present but an earlier one is absent. */
export function encodeBlockHeader(header: BlockHeader): Uint8Array {
  return encodeRlp([
    fromHex(header.parentHash, 32, 'parentHash'),
    fromHex(header.unclesHash, 32, 'unclesHash'),
    fromHex(header.coinbase, 20, 'coinbase'),
    fromHex(header.stateRoot, 32, 'stateRoot'),
    fromHex(header.transactionsRoot, 32, 'transactionsRoot'),
    fromHex(header.receiptsRoot, 32, 'receiptsRoot'),
    fromHex(header.logsBloom, 256, 'logsBloom'),
    header.difficulty,
    header.number,
    header.gasLimit,
    header.gasUsed,
    header.timestamp,
    fromHex(header.extraData, undefined, 'extraData'),
    fromHex(header.mixHash, 32, 'mixHash'),
    fromHex(header.nonce, 8, 'nonce'),
    ...optionalItems(header),
  ])
}

export function blockHeaderHash(header: BlockHeader): Hex {
  return keccak256Hex(encodeBlockHeader(header))
}

function optionalItems(header: BlockHeader): RlpInput[] {
  const items: RlpInput[] = []
  let absent: string | undefined
  for (const { member, encode } of OPTIONAL_FIELDS) {
    const item = encode(header)
    if (item === undefined) absent ??= member
    else if (absent === undefined) items.push(item)
    else throw new DecodeError(`header: ${member} is present without ${absent}, which comes before it`)
  }
  return items
}

interface OptionalField {
  member: keyof OptionalMembers
  encode(header: OptionalMembers): RlpInput | undefined
  decode(header: OptionalMembers, item: RlpItem | undefined): void
  fromJson(header: OptionalMembers, block: JsonObjectReader): void
}

type OptionalMembers = Pick<BlockHeader, OptionalHash | OptionalQuantity | 'slotNumber'>
type OptionalHash = 'withdrawalsRoot' | 'parentBeaconBlockRoot' | 'requestsHash' | 'blockAccessListHash'
type OptionalQuantity = 'baseFeePerGas' | 'blobGasUsed' | 'excessBlobGas'

function hashField(member: OptionalHash): OptionalField {
  return {
    member,
    encode(header) {
      const value = header[member]
      return value === undefined ? undefined : fromHex(value, 32, member)
    },
    decode(header, item) {
      header[member] = toHex(rlpBytes(item, `header ${member}`, 32))
    },
    fromJson(header, block) {
      const value = block.optionalHex(member, 32)
      if (value !== undefined) header[member] = value
    },
  }
}

function quantityField(member: OptionalQuantity, maxBytes?: number): OptionalField {
  return {
    member,
    encode: (header) => header[member],
    decode(header, item) {
      header[member] = rlpBigInt(item, `header ${member}`, maxBytes)
    },
    fromJson(header, block) {
      const value = block.optionalQuantity(member)
      if (value !== undefined) header[member] = value
    },
  }
}

const slotNumber: OptionalField = {
  member: 'slotNumber',
  encode: (header) => header.slotNumber,
  decode(header, item) {
    header.slotNumber = rlpNumber(item, 'header slotNumber')
  },
  fromJson(header, block) {
    if (block.has('slotNumber')) header.slotNumber = block.quantityNumber('slotNumber')
  },
}

/** In the order of the encoding: each fork appends its members. */
const OPTIONAL_FIELDS: readonly OptionalField[] = [
  quantityField('baseFeePerGas'),
  hashField('withdrawalsRoot'),
  quantityField('blobGasUsed', 8),
  quantityField('excessBlobGas', 8),
  hashField('parentBeaconBlockRoot'),
  hashField('requestsHash'),
  hashField('blockAccessListHash'),
  slotNumber,
]

/** The first fields of every header, in order, with their JSON-RPC names. */
const BASE_JSON_NAMES = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'difficulty'],
  ...['number', 'gasLimit', 'gasUsed', 'timestamp', 'extraData', 'mixHash', 'nonce'],
]
const BASE_FIELDS = BASE_JSON_NAMES.length
export const HEADER_JSON_NAMES: readonly string[] = [...BASE_JSON_NAMES, ...OPTIONAL_FIELDS.map(({ member }) => member)]

/** Throws DecodeError. */
export function decodeBlockHeader(encoded: Uint8Array): BlockHeader {
  const fields = rlpList(decodeRlp(encoded), 'header')
  if (fields.length < BASE_FIELDS || fields.length > BASE_FIELDS + OPTIONAL_FIELDS.length) {
    throw new DecodeError(`header: ${fields.length} fields`)
  }
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
  for (const [index, item] of fields.slice(BASE_FIELDS).entries()) OPTIONAL_FIELDS[index]?.decode(header, item)
  return header
}

/** Header of a block as JSON-RPC returns it (`eth_getBlockBy…`). Throws DecodeError. */
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
  for (const field of OPTIONAL_FIELDS) field.fromJson(header, block)
  return header
}
