import { invalidParams, JsonRpcError, type JsonValue, RPC_LIMIT_EXCEEDED } from '../../../jsonRpc/types.ts'
import { type Hex, normalizeHex, toQuantity } from '../../../lib/hex.ts'
import { asObject } from '../../../lib/jsonReader.ts'
import type { Log } from '../../primitives/block.ts'
import { bloomBits } from '../../tx/receiptCodec.ts'
import { type BlockSelector, blockNumber, maybe, type Param, readArray } from '../params.ts'

/** geth's limits (`eth/filters/api.go`). */
const MAX_TOPICS = 4
const MAX_SUB_TOPICS = 1000
const MAX_ADDRESSES = 1000
/**
 * Addresses and topics that all polled filters, or all log subscriptions, of a process may have together. Each takes
 * 200 bytes, and each new block is compared with it.
 */
const MAX_CRITERIA_IN_ALL = 100_000

/** Addresses and topics of logs. Empty lists and undefined topics match everything. */
export interface LogPattern {
  addresses: Hex[]
  /** By position. */
  topics: (Hex[] | undefined)[]
}

export interface LogFilter extends LogPattern {
  blocks:
    | { kind: 'hash'; hash: Hex }
    | { kind: 'range'; from: BlockSelector | undefined; to: BlockSelector | undefined }
}

/** geth's FilterCriteria. */
export const logFilter: Param<LogFilter> = {
  parse(value) {
    const json = asObject(value, 'filter')
    const from = maybe(json.fromBlock, blockNumber.parse)
    const to = maybe(json.toBlock, blockNumber.parse)
    const hash = maybe(json.blockHash, (given) => normalizeHex(given, 32, 'blockHash'))
    if (hash !== undefined && (from !== undefined || to !== undefined)) {
      throw invalidParams('cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other')
    }
    return {
      blocks: hash === undefined ? { kind: 'range', from, to } : { kind: 'hash', hash },
      addresses: maybe(json.address, readAddresses) ?? [],
      topics: maybe(json.topics, readTopics) ?? [],
    }
  },
}

/** The JSON that `logFilter` reads. */
export function logFilterToJson({ blocks, addresses, topics }: LogFilter): JsonValue {
  return {
    ...(blocks.kind === 'hash'
      ? { blockHash: blocks.hash }
      : { fromBlock: nameOf(blocks.from), toBlock: nameOf(blocks.to) }),
    address: addresses,
    topics: topics.map((alternatives) => alternatives ?? null),
  }
}

function nameOf(block: BlockSelector | undefined): JsonValue {
  if (block === undefined) return null
  if (block.kind === 'label') return block.label
  return block.kind === 'number' ? toQuantity(block.number) : block.hash
}

/** Throws JsonRpcError if the filters have too many addresses and topics. */
export function limitCriteria(filters: Iterable<LogPattern>): void {
  let count = 0
  for (const { addresses, topics } of filters) count += addresses.length + topics.flat().length
  if (count <= MAX_CRITERIA_IN_ALL) return
  const message = `too many log filters: at most ${MAX_CRITERIA_IN_ALL} addresses and topics in all filters`
  throw new JsonRpcError(RPC_LIMIT_EXCEEDED, message)
}

export function matchesLog(pattern: LogPattern, log: Pick<Log, 'address' | 'topics'>): boolean {
  if (pattern.addresses.length > 0 && !pattern.addresses.includes(log.address)) return false
  if (pattern.topics.length > log.topics.length) return false
  return pattern.topics.every((wanted, position) => {
    const topic = log.topics[position]
    return wanted === undefined || (topic !== undefined && wanted.includes(topic))
  })
}

/** The bloom of a block without logs: each log sets the bits of its address. */
const NO_LOGS: Hex = `0x${'00'.repeat(256)}`

/** Creates a test of blooms. False means that no log of the block can match. */
export function createBloomTest(pattern: LogPattern): (bloom: Hex) => boolean {
  const groups = [pattern.addresses, ...pattern.topics]
    .filter((group): group is Hex[] => group !== undefined && group.length > 0)
    .map((group) => group.map(bloomBits))
  return (bloom) =>
    bloom !== NO_LOGS && groups.every((group) => group.some((bits) => bits.every((bit) => hasBit(bloom, bit))))
}

function hasBit(bloom: Hex, bit: number): boolean {
  const digit = Number.parseInt(bloom.charAt(bloom.length - 1 - (bit >> 2)), 16)
  return ((digit >> (bit & 3)) & 1) === 1
}

function readAddresses(value: unknown): Hex[] {
  if (!Array.isArray(value)) return [normalizeHex(value, 20, 'address')]
  if (value.length > MAX_ADDRESSES) throw invalidParams('exceed max addresses')
  return value.map((address) => normalizeHex(address, 20, 'address'))
}

function readTopics(value: unknown): (Hex[] | undefined)[] {
  const topics = readArray(value, 'topics', 1000)
  if (topics.length > MAX_TOPICS) throw invalidParams('exceed max topics')
  return topics.map((topic) => {
    if (topic === null) return undefined
    if (!Array.isArray(topic)) return [normalizeHex(topic, 32, 'topic')]
    if (topic.length > MAX_SUB_TOPICS) throw invalidParams('exceed max topics')
    // null among alternatives matches any topic.
    if (topic.length === 0 || topic.includes(null)) return undefined
    return topic.map((alternative) => normalizeHex(alternative, 32, 'topic'))
  })
}
