import { randomBytes } from 'node:crypto'
import { type Hex, toHex } from '../../src/lib/hex.ts'
import { compressSnappy } from '../../src/p2p/base/snappyBlock.ts'
import { testBlock } from '../../src/p2p/testUtils/testChain.ts'
import { encodePayloadEnvelope, payloadVersionAt } from '../../src/rollup/protocol/index.ts'
import type { PayloadEnvelope, RollupConfig } from '../../src/rollup/protocol/types.ts'

const SIGNATURE_BYTES = 65
/** The size of a transfer. */
const TRANSACTION_BYTES = 200

export interface BlockMaker {
  next(): PayloadEnvelope
}

/** Consecutive blocks of incompressible transactions. Each has the wanted size after signing and compression. */
export function createBlockMaker(config: RollupConfig, size: number): BlockMaker {
  let blockNumber = 0
  let parentHash: Hex = toHex(randomBytes(32))
  const make = (transactions: Uint8Array[]): PayloadEnvelope =>
    testBlock(config, { blockNumber, parentHash, transactions, timestamp: Math.floor(Date.now() / 1000) })
  const sizeOf = (envelope: PayloadEnvelope): number =>
    compressSnappy(encodePayloadEnvelope(envelope, payloadVersionAt(config, envelope.payload.timestamp))).length
  const empty = sizeOf(make([])) + SIGNATURE_BYTES
  /** Each transaction has an offset of 4 bytes. */
  const room = Math.max(0, size - empty)
  const whole = Math.floor(room / (TRANSACTION_BYTES + 4))
  const rest = room - whole * (TRANSACTION_BYTES + 4) - 4
  const lengths = Array.from({ length: whole }, () => TRANSACTION_BYTES)
  if (rest > 0) lengths.push(rest)
  return {
    next() {
      blockNumber += 1
      const block = make(lengths.map((length) => new Uint8Array(randomBytes(length))))
      parentHash = block.payload.blockHash
      return block
    },
  }
}
