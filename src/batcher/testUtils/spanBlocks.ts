import { createHash } from 'node:crypto'
import { concatBytes } from '../../lib/bytes.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { type ChannelConfig, createChannelConfig } from '../channel/channelConfig.ts'
import type { BatcherBlock } from '../l2/l2Block.ts'
import type { BatcherOptions } from '../submitter/options.ts'
import { loadRecordedChain } from './recordedChain.ts'
import { TEST_BATCHER_OPTIONS } from './submitterSetup.ts'

export const rollupConfig = loadRecordedChain('holocene-span-brotli-calldata').config
const { genesis, blockTime, l2ChainId } = rollupConfig

/** Random bytes, the same for the same seed. */
export function noise(seed: string, length: number): Uint8Array {
  const parts: Uint8Array[] = []
  for (let i = 0; i * 32 < length; i++) parts.push(createHash('sha256').update(`${seed} ${i}`).digest())
  return concatBytes(...parts).subarray(0, length)
}

function transaction(nonce: number, data: Uint8Array): Uint8Array {
  const signature = [noise(`r${nonce}`, 32), noise(`s${nonce}`, 32)].map((part) => part.map((byte) => byte | 1))
  const fields = [l2ChainId, BigInt(nonce), 1_000_000n, 2_000_000n, 50_000n, noise('to', 20), 0n, data, []]
  return concatBytes(Uint8Array.of(2), encodeRlp([...fields, 1n, ...signature]))
}

const hashOf = (number: number): Hex => toHex(noise(`block ${number}`, 32))

export function block(number: number, transactions: Uint8Array[]): BatcherBlock {
  const size = transactions.reduce((sum, { length }) => sum + length + 2, 70)
  return {
    hash: hashOf(number),
    parentHash: hashOf(number - 1),
    number,
    timestamp: genesis.l2Time + number * blockTime,
    l1Origin: { hash: `0x${'11'.repeat(32)}`, number: 1 },
    sequenceNumber: number,
    transactions,
    rawSizeBytes: size,
    estimatedDaBytes: size,
  }
}

/** Blocks of one transaction each. Its data starts with this many random bytes and ends with zeros. */
export function blocksOf(shapes: readonly { noise: number; zeros: number }[]): BatcherBlock[] {
  return shapes.map((shape, index) =>
    block(index + 1, [
      transaction(index, concatBytes(noise(`data ${index}`, shape.noise), new Uint8Array(shape.zeros))),
    ]),
  )
}

export function configOf(options: Partial<BatcherOptions>): ChannelConfig {
  return createChannelConfig(
    { ...TEST_BATCHER_OPTIONS, batchType: 'span', ...options },
    rollupConfig,
    genesis.l2Time + 1e6,
  )
}
