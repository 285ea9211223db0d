import { concatBytes } from '../../src/lib/bytes.ts'
import type { Hex } from '../../src/lib/hex.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import type { L1Source, L2Source } from '../../src/rollup/derive/index.ts'
import { BATCHER, fakeHash, GENESIS_TIME, INBOX, testConfig } from '../../src/rollup/derive/testUtils/config.ts'
import {
  compressChannel,
  encodeFrames,
  encodeSpanBatch,
  type Frame,
  type SpanBatchBlock,
} from '../../src/rollup/protocol/index.ts'
import type { L1BlockInfo, L1Transaction, L2BlockRef, RollupConfig } from '../../src/rollup/protocol/types.ts'

// A generated chain on which only derivation costs time. Blocks are identified by number, and the engine accepts every block.

export const L1_BLOCK_TIME_S = 12
export const L2_BLOCK_TIME_S = 2
const BLOCKS_PER_EPOCH = L1_BLOCK_TIME_S / L2_BLOCK_TIME_S
const MAX_FRAME_BYTES = 120_000

export const config: RollupConfig = testConfig('jovian', {
  blockTime: L2_BLOCK_TIME_S,
  seqWindowSize: 3600,
  channelTimeout: 300,
  l2ChainId: 10n,
  genesis: {
    ...testConfig('jovian').genesis,
    systemConfig: { ...testConfig('jovian').genesis.systemConfig, eip1559Params: '0x000000fa00000006', minBaseFee: 0n },
  },
})

export const originOf = (number: number): number => Math.floor(number / BLOCKS_PER_EPOCH)

/** 32 bytes that identify a block, cheaper than a hash. */
function madeHash(chain: 'l1' | 'l2', number: number): Hex {
  return `${PREFIX[chain]}${Math.max(0, number).toString(16).padStart(40, '0')}`
}

const PREFIX = { l1: `0x${'01'.repeat(12)}`, l2: `0x${'02'.repeat(12)}` } as const

export function l2Ref(number: number): L2BlockRef {
  const origin = originOf(number)
  return {
    hash: madeHash('l2', number),
    number,
    parentHash: madeHash('l2', number - 1),
    timestamp: GENESIS_TIME + number * L2_BLOCK_TIME_S,
    l1Origin: { hash: madeHash('l1', origin), number: origin },
    sequenceNumber: number % BLOCKS_PER_EPOCH,
  }
}

/** The content of a span batch for the blocks `from` to `to`. */
export function planOf(from: number, to: number, transactionsOf: (number: number) => Uint8Array[]): SpanBatchBlock[] {
  return Array.from({ length: to - from + 1 }, (_, index) => {
    const { parentHash, timestamp, l1Origin, sequenceNumber } = l2Ref(from + index)
    const transactions = transactionsOf(from + index)
    return {
      parentHash,
      timestamp,
      epochNumber: l1Origin.number,
      epochHash: l1Origin.hash,
      sequenceNumber,
      transactions,
    }
  })
}

let channels = 0

/** Data of the batcher transactions of one channel. */
export function inFrames(channel: Uint8Array): Uint8Array[] {
  const channelId: Hex = `0x${(++channels).toString(16).padStart(32, '0')}`
  const count = Math.max(1, Math.ceil(channel.length / MAX_FRAME_BYTES))
  return Array.from({ length: count }, (_, number) => {
    const data = channel.subarray(number * MAX_FRAME_BYTES, (number + 1) * MAX_FRAME_BYTES)
    const frame: Frame = { channelId, number, data, isLast: number === count - 1 }
    return encodeFrames([frame])
  })
}

export function channelOf(blocks: SpanBatchBlock[], algorithm: 'zlib' | 'brotli-9' = 'zlib'): Uint8Array {
  return compressChannel(encodeRlp(encodeSpanBatch(blocks, config)), algorithm)
}

/** An L1 with this batcher data, keyed by block number. */
export function madeL1(head: number, dataAt: ReadonlyMap<number, Uint8Array[]>): L1Source {
  const infos = new Map<Hex, L1BlockInfo>()
  const byNumber: L1BlockInfo[] = []
  for (let number = 0; number <= head; number++) {
    const info: L1BlockInfo = {
      hash: madeHash('l1', number),
      number,
      parentHash: madeHash('l1', number - 1),
      timestamp: GENESIS_TIME + number * L1_BLOCK_TIME_S,
      mixHash: fakeHash('mix', number),
      baseFeePerGas: 7n,
      excessBlobGas: 0n,
      parentBeaconBlockRoot: fakeHash('beacon', number),
    }
    infos.set(info.hash, info)
    byNumber.push(info)
  }
  const found = (hash: Hex): L1BlockInfo => {
    const info = infos.get(hash)
    if (info === undefined) throw new Error(`no L1 block ${hash}`)
    return info
  }
  return {
    blockInfoByHash: async (hash) => infos.get(hash),
    blockInfoByNumber: async (number) => byNumber[number],
    receipts: async (hash) => ({ info: found(hash), receipts: [] }),
    async transactions(hash) {
      const info = found(hash)
      const inputs = dataAt.get(info.number) ?? []
      const transactions = inputs.map((input): L1Transaction => ({ hash, type: 2, from: BATCHER, to: INBOX, input }))
      return { info, transactions }
    },
  }
}

/** An engine that has every block. */
export const nullEngine: L2Source = {
  blockRefByHash: async (hash) => l2Ref(Number.parseInt(hash.slice(26), 16)),
  blockRefByNumber: async (number) => l2Ref(number),
  payloadByNumber: async () => undefined,
  systemConfigByL2Hash: async () => config.genesis.systemConfig,
}

let seed = 1
function random(): number {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
  return seed / 2 ** 32
}

function randomBytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random() * 256)
}

const CONTRACTS = Array.from({ length: 200 }, () => randomBytes(20))
const SELECTORS = Array.from({ length: 40 }, () => randomBytes(4))

function pick<T>(list: readonly T[], fallback: T): T {
  return list[Math.floor(random() * random() * list.length)] ?? fallback
}

/** A transaction like those of public chains: fees, a contract, and words with mostly zero bytes. */
export function madeTransaction(chainId = 10): Uint8Array {
  const words = 1 + Math.floor(random() * random() * 66)
  const input = new Uint8Array(4 + words * 32)
  input.set(pick(SELECTORS, input.subarray(0, 4)))
  for (let word = 0; word < words; word++) {
    const length = random() < 0.5 ? 20 : 1 + Math.floor(random() * 30)
    const value = random() < 0.3 ? pick(CONTRACTS, input) : randomBytes(length)
    input.set(value.subarray(0, 32), 4 + (word + 1) * 32 - Math.min(32, value.length))
  }
  const fields = [
    chainId,
    Math.floor(random() * 1_000_000),
    1_000_000,
    Math.floor(1e9 * random()),
    100_000 + Math.floor(random() * 300_000),
    pick(CONTRACTS, randomBytes(20)),
    random() < 0.7 ? 0 : Math.floor(random() * 1e15),
    input,
    [],
    random() < 0.5 ? 0 : 1,
    concatBytes(Uint8Array.of(1), randomBytes(31)),
    concatBytes(Uint8Array.of(1), randomBytes(31)),
  ]
  return concatBytes(Uint8Array.of(2), encodeRlp(fields))
}
