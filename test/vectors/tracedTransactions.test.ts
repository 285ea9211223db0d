import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Chain } from '../../src/execution/chain/opChain.ts'
import { openChain } from '../../src/execution/chain/opChain.ts'
import { initChain } from '../../src/execution/config/genesis.ts'
import { loadRecordedRpc } from '../../src/execution/testUtils/recordedRpc.ts'
import { AnswerBudget } from '../../src/execution/tracing/answerBudget.ts'
import { StructLogger } from '../../src/execution/tracing/structLogger.ts'
import type { TracedResult, TransactionTracer } from '../../src/execution/tracing/types.ts'
import type { WrittenJson } from '../../src/jsonRpc/bodyChunks.ts'
import { textOf } from '../../src/jsonRpc/testUtils/textOf.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { Hex } from '../../src/lib/hex.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { loadRecording } from '../support/recording.ts'

const NAME = 'holocene-span-brotli-calldata'

interface Step {
  pc: number
  op: string
  gas: number
  gasCost: number
  depth: number
  stack: string[]
}

/** All steps of one transaction, the accounts whose code ran, and how it ended. */
async function trace(
  chain: Chain,
  hash: Hex,
): Promise<{ steps: Step[]; addresses: Set<Hex>; result: TracedResult & { logs: number } }> {
  const located = await chain.transactionByHash(hash)
  const addresses = new Set<Hex>()
  let logs = 0
  const options = { showStack: true, showStorage: true, showMemory: true, limit: undefined }
  const logger = new StructLogger(options, new AnswerBudget('trace less'))
  const tracer: TransactionTracer = {
    begin: (env) => logger.begin(env),
    onStep(frame) {
      addresses.add(frame.address)
      logger.onStep(frame)
    },
    onEnd: () => logger.onEnd(),
    onLog() {
      logs += 1
    },
    end: (result) => ({ trace: logger.end(result), result: { ...result, logs } }),
  }
  const index = located?.index ?? 0
  const block = await chain.blockByHash(located?.block.hash ?? '0x')
  if (block === undefined) throw new Error(`no block has ${hash}`)
  const [traced] = await chain.traceBlock(block, { from: index, to: index + 1 }, () => tracer)
  const { trace, result } = traced as { trace: WrittenJson; result: TracedResult & { logs: number } }
  return { steps: JSON.parse(textOf(trace.chunks)).structLogs, addresses, result }
}

describe('traceBlock', () => {
  let datadir: string
  let chain: Chain

  beforeAll(async () => {
    datadir = await mkdtemp(join(tmpdir(), 'devium-trace-'))
    await initChain(datadir, loadRecordedRpc(NAME).genesis)
    chain = await openChain(datadir, { logger: silentLogger, clock: systemClock })
    for (const envelope of loadRecording(NAME).l2.slice(1, 12)) {
      await chain.importPayload(envelope)
      const zero = `0x${'00'.repeat(32)}` as const
      const { blockHash } = envelope.payload
      await chain.setForkchoice({ headBlockHash: blockHash, safeBlockHash: zero, finalizedBlockHash: zero })
    }
  })

  afterAll(async () => {
    await chain.close()
    await rm(datadir, { recursive: true, force: true })
  })

  it('the gas of the steps equals the gas of the receipt, for every transaction', async () => {
    let traced = 0
    for (let number = 1; number <= chain.head().number; number++) {
      const block = await chain.blockByNumber(number)
      const receipts = await chain.receipts(block?.header.hash ?? '0x')
      for (const [index, tx] of (block?.transactions ?? []).entries()) {
        const { steps, result } = await trace(chain, tx.hash)
        expect(result.gasUsed).toBe(receipts?.[index]?.gasUsed)
        expect(result.failure === undefined).toBe(receipts?.[index]?.status === 1)
        // Those of frames that failed are told of, too.
        if (result.failure === undefined) expect(result.logs).toBe(receipts?.[index]?.logs.length)
        if (steps.length > 0) traced++
        for (const [position, step] of steps.entries()) {
          const next = steps[position + 1]
          if (next?.depth === step.depth && !step.op.includes('CALL') && !step.op.startsWith('CREATE')) {
            expect(step.gas - next.gas).toBe(step.gasCost)
          }
          // What a call passes on is part of its cost; a stipend comes on top.
          if (next !== undefined && next.depth > step.depth && step.op.includes('CALL')) {
            expect(next.gas).toBeLessThanOrEqual(step.gasCost + 2300)
          }
        }
      }
    }
    expect(traced).toBeGreaterThan(20)
  })

  it('traces the calls of the L1-info deposit', async () => {
    const block = await chain.blockByNumber(3)
    const { steps, addresses } = await trace(chain, block?.transactions[0]?.hash ?? '0x')
    const begin = steps.slice(0, 3).map(({ pc, op, gasCost, depth, stack }) => ({ pc, op, gasCost, depth, stack }))
    expect(begin).toEqual([
      { pc: 0, op: 'PUSH1', gasCost: 3, depth: 1, stack: [] },
      { pc: 2, op: 'PUSH1', gasCost: 3, depth: 1, stack: ['0x80'] },
      // 3, and 9 for three words of memory.
      { pc: 4, op: 'MSTORE', gasCost: 12, depth: 1, stack: ['0x80', '0x40'] },
    ])
    expect(steps.filter(({ op }) => op === 'SSTORE').length).toBeGreaterThan(3)
    expect(steps.at(-1)?.op).toBe('STOP')
    expect(addresses).toEqual(new Set(['0x4200000000000000000000000000000000000015']))
  })
})
