import { execFile } from 'node:child_process'
import fc from 'fast-check'
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { formatTransaction } from '../../src/execution/rpc/format/formatTransaction.ts'
import { encodeConsensusReceipt } from '../../src/execution/tx/receiptCodec.ts'
import { DecodeError } from '../../src/lib/errors.ts'
import { toHex } from '../../src/lib/hex.ts'
import { propertyRuns } from '../../src/lib/testUtils/propertyRuns.ts'
import { decodeTransaction } from '../../src/rollup/protocol/index.ts'
import {
  decodePostExecTx,
  encodePostExecTx,
  type PostExecTx,
  SDM_VERSION,
} from '../../src/rollup/protocol/transaction/postExec.ts'
import { BUILD_TIMEOUT_MS, type PeerBinary } from './buildOnce.ts'
import { buildOpAlloy } from './buildOpAlloy.ts'

// The post-exec transaction of Lagoon, by the crate that op-reth is made of. No release of alloy-op-evm has its rules and refunds.

interface Answer {
  error?: string
  encoded: string
  hash: string
  version: number
  blockNumber: string
  refunds: [index: string, gasRefund: string][]
  shown: Record<string, string>
}

let binary: PeerBinary = { skip: 'not built' }
beforeAll(async () => {
  binary = await buildOpAlloy()
}, BUILD_TIMEOUT_MS + 10_000)
beforeEach(({ skip }) => {
  if ('skip' in binary) skip(binary.skip)
})

/** An answer to each line. */
function query(lines: readonly string[]): Promise<Answer[]> {
  if ('skip' in binary) throw new Error(binary.skip)
  const { path } = binary
  return new Promise((resolve, reject) => {
    const child = execFile(path, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout) => {
      if (error === null)
        resolve(
          stdout
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as Answer),
        )
      else reject(error)
    })
    child.stdin?.end(lines.map((line) => `${line}\n`).join(''))
  })
}

const queryTransactions = (encodings: readonly Uint8Array[]) =>
  query(encodings.map((encoded) => `transaction ${toHex(encoded)}`))

const whole = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const payloads: fc.Arbitrary<PostExecTx> = fc.record({
  version: fc.constant(SDM_VERSION),
  blockNumber: whole,
  refunds: fc.array(fc.record({ index: whole, gasRefund: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) }), {
    maxLength: 8,
  }),
})
const sample = <T>(arbitrary: fc.Arbitrary<T>) => fc.sample(arbitrary, propertyRuns(2_000))

it('op-alloy decodes our encodings to the same values and hashes', async () => {
  const made = sample(payloads)
  const answers = await queryTransactions(made.map(encodePostExecTx))
  for (const [index, payload] of made.entries()) {
    const encoded = encodePostExecTx(payload)
    const answer = answers[index]
    expect(answer).toMatchObject({
      encoded: toHex(encoded),
      version: payload.version,
      blockNumber: String(payload.blockNumber),
      refunds: payload.refunds.map((refund) => [String(refund.index), String(refund.gasRefund)]),
    })
    const ours = formatTransaction(decodeTransaction(encoded), undefined)
    // op-alloy leaves the sender and the place to what is around the transaction.
    const { from: _, blockHash, blockNumber, blockTimestamp, transactionIndex, ...shown } = ours
    expect([blockHash, blockNumber, blockTimestamp, transactionIndex]).toEqual([null, null, null, null])
    expect(answer?.shown).toEqual(shown)
    expect(answer?.hash).toBe(ours.hash)
  }
})

it('op-alloy refuses the same damaged encodings', async () => {
  const damaged = sample(
    fc.tuple(
      payloads,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 2 }),
      fc.integer({ min: -2, max: 2 }),
    ),
  ).map(([payload, changes, longer]) => {
    const good = encodePostExecTx(payload)
    const bytes = new Uint8Array(good.length + longer)
    bytes.set(good.subarray(0, bytes.length))
    for (const [at, byte] of changes) if (longer === 0) bytes[1 + (at % (bytes.length - 1))] = byte
    return bytes
  })
  const answers = await queryTransactions(damaged)
  const differing = damaged.filter((encoded, index) => {
    const isRead = isReadHere(encoded)
    return isRead !== 'too large' && isRead !== (answers[index]?.error === undefined)
  })
  expect(differing.map(toHex)).toEqual([])
  expect(answers.filter(({ error }) => error !== undefined).length).toBeGreaterThan(damaged.length / 4)
})

/** A version that is not known is for the rules of blocks here, and for the decoder there. */
function isReadHere(encoded: Uint8Array): boolean | 'too large' {
  try {
    return decodePostExecTx(encoded).version === SDM_VERSION
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    // Numbers up to 2^64 are read there. No block has them.
    return error.message.includes('larger than 2^53-1') ? 'too large' : false
  }
}

it('op-alloy encodes receipts identically', async () => {
  const gas = sample(fc.bigInt({ min: 0n, max: 2n ** 63n }))
  const answers = await query(gas.map((cumulative) => `receipt ${cumulative}`))
  const ours = gas.map((cumulativeGasUsed) => {
    const receipt = { type: 0x7d, status: 1 as const, cumulativeGasUsed, logs: [], logsBloom: new Uint8Array(256) }
    return toHex(encodeConsensusReceipt(receipt))
  })
  expect(answers.map(({ encoded }) => encoded)).toEqual(ours)
})
