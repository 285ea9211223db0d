import { beforeEach, describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { DerivedAttributes } from '../derive/index.ts'
import type { L2BlockRef, PayloadEnvelope } from '../protocol/types.ts'
import { EngineController } from './engineController.ts'
import { FakeEngine, fakeGenesis } from './testUtils/fakeEngine.ts'
import { attributesOn, refOf, TEST_L1, testEngineConfig } from './testUtils/testChain.ts'
import type { PayloadStatus } from './types.ts'

const GENESIS = fakeGenesis(1000, 30_000_000n)
/** Granite: a span becomes safe as a whole, and an invalid block drops its batch. */
const CONFIG = testEngineConfig(GENESIS)
const BAD = Uint8Array.of(2, 77)

let engine: FakeEngine
let controller: EngineController

beforeEach(async () => {
  engine = new FakeEngine(CONFIG, GENESIS)
  controller = new EngineController({ engine, logger: silentLogger }, CONFIG)
  const genesis = refOf(CONFIG, GENESIS)
  await controller.reset(async () => ({ unsafe: genesis, safe: genesis, finalized: genesis }))
})

const attributes = (parent: L2BlockRef, extra: Uint8Array[] = []) => attributesOn(CONFIG, parent, extra)

function derived(
  parent: L2BlockRef,
  options: { extra?: Uint8Array[]; isLastInSpan?: boolean; l1Time?: number } = {},
): DerivedAttributes {
  const { extra = [], isLastInSpan = true, l1Time = 1000 } = options
  return { attributes: attributes(parent, extra), parent, derivedFrom: { ...TEST_L1, timestamp: l1Time }, isLastInSpan }
}

/** Inserts unsafe blocks on the head, each with one transaction that contains its number. */
async function insertUnsafe(count: number): Promise<L2BlockRef[]> {
  const refs: L2BlockRef[] = []
  for (let index = 0; index < count; index++) {
    const { unsafe } = controller.heads
    const parent = await engine.payloadByHash(unsafe.hash)
    if (parent === undefined) throw new Error('no parent')
    const envelope = engine.build(parent, attributes(unsafe, [Uint8Array.of(2, unsafe.number + 1)]))
    expect(await controller.insertUnsafePayload(envelope)).toBe('inserted')
    refs.push(controller.heads.unsafe)
  }
  return refs
}

function numbers() {
  const { unsafe, pendingSafe, safe, finalized } = controller.heads
  return { unsafe: unsafe.number, pendingSafe: pendingSafe.number, safe: safe.number, finalized: finalized.number }
}

function refuseBad({ payload }: PayloadEnvelope): PayloadStatus | undefined {
  return payload.transactions.some((transaction) => transaction[1] === 77) ? { status: 'INVALID' } : undefined
}

describe('spans before Holocene', () => {
  it('become safe with their last block', async () => {
    await controller.processAttributes(derived(controller.heads.pendingSafe, { isLastInSpan: false }))
    expect(numbers()).toEqual({ unsafe: 1, pendingSafe: 1, safe: 0, finalized: 0 })
    await controller.processAttributes(derived(controller.heads.pendingSafe))
    expect(numbers()).toEqual({ unsafe: 2, pendingSafe: 2, safe: 2, finalized: 0 })
  })

  it('restore the old unsafe chain when a later block of the span is invalid', async () => {
    const unsafe = await insertUnsafe(3)
    engine.faults.newPayload = refuseBad
    const first = await controller.processAttributes(
      derived(controller.heads.pendingSafe, { extra: [Uint8Array.of(2, 50)], isLastInSpan: false }),
    )
    expect(first).toMatchObject({ kind: 'built', reorged: true })
    expect(numbers()).toEqual({ unsafe: 1, pendingSafe: 1, safe: 0, finalized: 0 })
    const second = await controller.processAttributes(derived(controller.heads.pendingSafe, { extra: [BAD] }))
    expect(second).toEqual({ kind: 'dropped' })
    expect(numbers()).toEqual({ unsafe: 3, pendingSafe: 0, safe: 0, finalized: 0 })
    expect(engine.label('latest')).toBe(unsafe[2]?.hash)
  })
})

describe('attributes', () => {
  it('for an earlier head are stale; for another block of that height they require a reset', async () => {
    const genesis = controller.heads.pendingSafe
    await controller.processAttributes(derived(genesis))
    expect(await controller.processAttributes(derived(genesis))).toEqual({ kind: 'stale' })
    const foreign = { ...controller.heads.pendingSafe, hash: `0x${'ee'.repeat(32)}` as const }
    await expect(controller.processAttributes(derived(foreign))).rejects.toMatchObject({ severity: 'reset' })
  })

  it('refused by the engine at once are replaced by deposits only under Holocene', async () => {
    engine.faults.forkchoiceUpdated = (_state, sent) => {
      if (sent !== undefined && sent.transactions.length > 1)
        throw new JsonRpcError(-38003, 'Invalid payload attributes')
      return undefined
    }
    const outcome = await controller.processAttributes(
      derived(controller.heads.pendingSafe, { extra: [BAD], l1Time: 5000 }),
    )
    expect(outcome).toMatchObject({ kind: 'replaced', block: { number: 1 } })
  })

  it.each<[string, () => void, string]>([
    [
      'the engine does not know the parent',
      () => {
        engine.faults.forkchoiceUpdated = (_state, sent) => {
          if (sent !== undefined) throw new JsonRpcError(-38002, 'Invalid forkchoice state')
          return undefined
        }
      },
      'reset',
    ],
    [
      'the engine is syncing',
      () => {
        engine.faults.forkchoiceUpdated = (_state, sent) =>
          sent === undefined ? undefined : { payloadStatus: { status: 'SYNCING' } }
      },
      'temporary',
    ],
    [
      'parameters are refused',
      () => {
        engine.faults.forkchoiceUpdated = () => {
          throw new JsonRpcError(-32602, 'invalid params')
        }
      },
      'temporary',
    ],
    [
      'the block is lost',
      () => {
        engine.faults.getPayload = () => {
          throw new JsonRpcError(-38001, 'Unknown payload')
        }
      },
      'temporary',
    ],
    [
      'the connection breaks',
      () => {
        engine.faults.newPayload = () => {
          throw new Error('ECONNRESET')
        }
      },
      'temporary',
    ],
    [
      'the engine has lost the parent',
      () => {
        engine.faults.newPayload = () => ({ status: 'SYNCING' })
        engine.blockRefByNumber = async () => undefined
      },
      'reset',
    ],
    [
      'the engine has the parent but takes no child',
      () => {
        engine.faults.newPayload = () => ({ status: 'SYNCING' })
      },
      'temporary',
    ],
    [
      'the engine lost the parent before the block was started',
      () => {
        engine.faults.forkchoiceUpdated = () => ({ payloadStatus: { status: 'SYNCING' } })
        engine.blockRefByNumber = async () => undefined
      },
      'reset',
    ],
  ])('can be sent again, or require a reset, when %s', async (_name, fail, severity) => {
    fail()
    await expect(controller.processAttributes(derived(controller.heads.pendingSafe))).rejects.toMatchObject({
      severity,
    })
    expect(numbers().safe).toBe(0)
    if (severity !== 'temporary') return
    engine.faults.forkchoiceUpdated = () => undefined
    engine.faults.getPayload = () => undefined
    engine.faults.newPayload = () => undefined
    expect(await controller.processAttributes(derived(controller.heads.pendingSafe))).toMatchObject({ kind: 'built' })
  })
})

describe('forkchoice', () => {
  it('is sent only after a head has moved', async () => {
    await insertUnsafe(2)
    engine.calls.length = 0
    await controller.updateForkchoice()
    expect(engine.calls).toEqual([])
    // With the same transactions, the unsafe blocks become safe unchanged.
    await controller.processAttributes(derived(controller.heads.pendingSafe, { extra: [Uint8Array.of(2, 1)] }))
    expect(engine.calls).toEqual([])
    await controller.updateForkchoice()
    await controller.updateForkchoice()
    expect(engine.calls).toEqual(['forkchoice'])
    expect(engine.label('safe')).toBe(controller.heads.safe.hash)
  })

  it('requires a reset if it is refused, and a retry if the answer is lost', async () => {
    await insertUnsafe(1)
    await controller.processAttributes(derived(controller.heads.pendingSafe, { extra: [Uint8Array.of(2, 1)] }))
    engine.faults.forkchoiceUpdated = () => ({ payloadStatus: { status: 'SYNCING' } })
    await expect(controller.updateForkchoice()).rejects.toMatchObject({ severity: 'reset' })
    engine.faults.forkchoiceUpdated = () => {
      throw new Error('ECONNREFUSED')
    }
    await expect(controller.updateForkchoice()).rejects.toMatchObject({ severity: 'temporary' })
    engine.faults.forkchoiceUpdated = () => undefined
    await controller.updateForkchoice()
    expect(engine.label('safe')).toBe(controller.heads.safe.hash)
  })

  it('accepts a finalized head only between finalized and safe', async () => {
    const [first, second] = await insertUnsafe(2)
    if (first === undefined || second === undefined) throw new Error('no blocks')
    controller.setFinalized(first)
    expect(numbers().finalized).toBe(0)
    for (const number of [1, 2]) {
      await controller.processAttributes(derived(controller.heads.pendingSafe, { extra: [Uint8Array.of(2, number)] }))
    }
    controller.setFinalized(second)
    expect(numbers().finalized).toBe(2)
    controller.setFinalized(first)
    expect(numbers().finalized).toBe(2)
  })
})

describe('before the first reset', () => {
  it('refuses all calls, which may be retried', async () => {
    const fresh = new EngineController({ engine, logger: silentLogger }, CONFIG)
    expect(fresh.ready).toBe(false)
    await expect(fresh.insertUnsafePayload(GENESIS)).rejects.toMatchObject({
      code: 'engine-not-ready',
      severity: 'temporary',
    })
    await fresh.updateForkchoice()
  })

  it('a failed reset keeps the controller not ready', async () => {
    engine.faults.forkchoiceUpdated = () => ({ payloadStatus: { status: 'SYNCING' } })
    const genesis = refOf(CONFIG, GENESIS)
    await expect(
      controller.reset(async () => ({ unsafe: genesis, safe: genesis, finalized: genesis })),
    ).rejects.toMatchObject({ severity: 'reset' })
    expect(controller.ready).toBe(false)
  })
})

describe('blocks of the sequencer', () => {
  it('are started, sealed and inserted only on the unsafe head', async () => {
    const parent = controller.heads.unsafe
    const job = await controller.startBuild(parent, attributes(parent))
    const envelope = await controller.sealBuild(job)
    await insertUnsafe(1)
    await expect(controller.insertSealed(envelope)).rejects.toMatchObject({ code: 'stale-parent' })
    await expect(controller.startBuild(parent, attributes(parent))).rejects.toMatchObject({ code: 'stale-parent' })
  })

  it('must begin with a deposit, and contain no deposit after other transactions', async () => {
    const parent = controller.heads.unsafe
    const [deposit] = attributes(parent).transactions
    if (deposit === undefined) throw new Error('no deposit')
    for (const transactions of [[], [BAD], [deposit, BAD, deposit]]) {
      const job = await controller.startBuild(parent, { ...attributes(parent), transactions })
      await expect(controller.sealBuild(job)).rejects.toMatchObject({ code: 'invalid-payload' })
    }
  })
})
