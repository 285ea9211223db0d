import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { BlockId, L2BlockRef, PayloadEnvelope, RollupConfig } from '../protocol/types.ts'
import { ZERO_HASH } from '../protocol/types.ts'
import type { SafeHeadHistory, SyncOptions } from './elSync.ts'
import { EngineController } from './engineController.ts'
import { FakeEngine, fakeGenesis } from './testUtils/fakeEngine.ts'
import { attributesOn, refOf, testEngineConfig } from './testUtils/testChain.ts'
import type { ForkchoiceState, PayloadStatus } from './types.ts'

const GENESIS = fakeGenesis(1000, 30_000_000n)
const CONFIG: RollupConfig = testEngineConfig(GENESIS)
const EL_SYNC: SyncOptions = { mode: 'execution-layer', reqResp: true, offsetBlocks: 3, resyncs: true }

let engine: FakeEngine
let chain: PayloadEnvelope[]
let sent: ForkchoiceState[]

/** The blocks 1 to `count` of a chain that the engine does not have. */
async function makeChain(count: number): Promise<PayloadEnvelope[]> {
  const builder = new FakeEngine(CONFIG, GENESIS)
  const blocks = [GENESIS]
  for (let number = 1; number <= count; number++) {
    const parent = blocks[number - 1] ?? GENESIS
    blocks.push(builder.build(parent, attributesOn(CONFIG, refOf(CONFIG, parent))))
  }
  return blocks
}

const at = (number: number): PayloadEnvelope => {
  const block = chain[number]
  if (block === undefined) throw new Error(`no block ${number}`)
  return block
}
const hashAt = (number: number) => at(number).payload.blockHash

/** Gives the engine all blocks up to this one, as its own network would. */
async function download(upTo: number): Promise<void> {
  engine.faults.newPayload = () => undefined
  for (let number = 1; number <= upTo; number++) await engine.newPayload(at(number))
}

function createController(options: Partial<SyncOptions> = {}, history?: SafeHeadHistory) {
  const clock = new ManualClock()
  return new EngineController({ engine, history, clock, logger: silentLogger }, CONFIG, { ...EL_SYNC, ...options })
}

function answer(status: PayloadStatus['status']): void {
  engine.faults.newPayload = () => ({ status })
  engine.faults.forkchoiceUpdated = (state) => {
    sent.push(state)
    return { payloadStatus: { status: status === 'ACCEPTED' ? 'SYNCING' : status } }
  }
}

function recordForkchoice(): void {
  engine.faults.forkchoiceUpdated = (state) => {
    sent.push(state)
    return undefined
  }
}

beforeEach(async () => {
  engine = new FakeEngine(CONFIG, GENESIS)
  chain = await makeChain(12)
  sent = []
})

describe('execution-layer sync', () => {
  it.each(['SYNCING', 'ACCEPTED'] as const)(
    'follows gossiped blocks while the engine answers %s, and ends when one is valid',
    async (status) => {
      const controller = createController()
      answer(status)
      expect(controller.syncing).toBe(true)
      expect(await controller.insertDirectly(at(8))).toBe('inserted')
      expect(await controller.insertDirectly(at(6))).toBe('unconnected')
      expect(await controller.insertDirectly(at(9))).toBe('inserted')
      expect(controller.heads.unsafe.number).toBe(9)
      expect(controller.ready).toBe(false)
      expect(sent).toEqual(
        [8, 9].map((number) => ({
          headBlockHash: hashAt(number),
          safeBlockHash: ZERO_HASH,
          finalizedBlockHash: ZERO_HASH,
        })),
      )
      await download(9)
      recordForkchoice()
      expect(await controller.insertDirectly(at(10))).toBe('inserted')
      expect(controller.syncing).toBe(false)
      // Safe and finalized are three blocks behind the tip.
      expect(sent.at(-1)).toEqual({
        headBlockHash: hashAt(10),
        safeBlockHash: hashAt(7),
        finalizedBlockHash: hashAt(7),
      })
      expect(engine.label('finalized')).toBe(hashAt(7))
    },
  )

  it('also ends when only the forkchoice is valid, and does not go below genesis', async () => {
    const controller = createController({ offsetBlocks: 100 })
    await download(2)
    engine.faults.newPayload = () => ({ status: 'ACCEPTED' })
    await controller.insertDirectly(at(2))
    expect(controller.syncing).toBe(false)
    expect(engine.label('latest')).toBe(hashAt(2))
    expect(engine.label('safe')).toBe(hashAt(0))
  })

  it('refuses an invalid block and waits for another', async () => {
    const controller = createController()
    answer('INVALID')
    expect(await controller.insertDirectly(at(4))).toBe('invalid')
    expect(controller.syncing).toBe(true)
    expect(sent).toEqual([])
    answer('SYNCING')
    expect(await controller.insertDirectly(at(4))).toBe('inserted')
  })

  it('continues after a failure at its end', async () => {
    const controller = createController()
    await download(8)
    let isAway = true
    engine.faults.forkchoiceUpdated = () => {
      if (isAway) throw new Error('ECONNRESET')
      return undefined
    }
    await expect(controller.insertDirectly(at(8))).rejects.toMatchObject({ severity: 'temporary' })
    expect(controller.syncing).toBe(true)
    isAway = false
    expect(await controller.insertDirectly(at(9))).toBe('inserted')
    expect(controller.syncing).toBe(false)
    expect(engine.label('safe')).toBe(hashAt(6))
  })

  it.each<[string, boolean, boolean]>([
    ['is skipped by geth', false, false],
    ['is done again by reth', true, true],
  ])('with a finalized block %s', async (_who, resyncs, syncs) => {
    await download(4)
    await engine.forkchoiceUpdated({
      headBlockHash: hashAt(4),
      safeBlockHash: hashAt(2),
      finalizedBlockHash: hashAt(2),
    })
    const moves: string[] = []
    const controller = createController({ resyncs })
    controller.subscribe((_heads, movedBy) => moves.push(movedBy))
    answer('SYNCING')
    expect(await controller.insertDirectly(at(9))).toBe(syncs ? 'inserted' : 'skipped')
    expect(controller.syncing).toBe(syncs)
    expect(moves).toEqual([syncs ? 'payload' : 'reset'])
  })

  it("never moves safe and finalized below the engine's own heads", async () => {
    await download(10)
    await engine.forkchoiceUpdated({
      headBlockHash: hashAt(10),
      safeBlockHash: hashAt(9),
      finalizedBlockHash: hashAt(8),
    })
    const controller = createController({ offsetBlocks: 5 })
    await controller.insertDirectly(at(11))
    expect(engine.label('safe')).toBe(hashAt(9))
    expect(engine.label('finalized')).toBe(hashAt(8))
  })
})

describe('the safe-head database after an engine sync', () => {
  const id = (number: number): BlockId => ({ number, hash: hashAt(number) })
  function history(entries: BlockId[]): SafeHeadHistory & { calls: string[] } {
    const calls: string[] = []
    return {
      calls,
      tip: async () => entries.at(-1),
      firstReaching: async (l2Number) => entries.find(({ number }) => number >= l2Number),
      truncate: async (safe: L2BlockRef) => void calls.push(`truncate ${safe.number}`),
      clear: async () => void calls.push('clear'),
    }
  }
  const foreign: BlockId = { number: 9, hash: `0x${'ee'.repeat(32)}` }

  it('finds the block to continue from if its tip is on the chain', async () => {
    const kept = history([id(2), id(4)])
    const controller = createController({}, kept)
    await download(10)
    await controller.insertDirectly(at(10))
    expect(engine.label('safe')).toBe(hashAt(4))
    // No block was finalized yet.
    expect(engine.label('finalized')).toBe(hashAt(0))
    expect(kept.calls).toEqual([])
  })

  it('is cut to its first entry at the offset if its tip is not on the chain', async () => {
    const kept = history([id(2), id(8), foreign])
    await download(10)
    await createController({}, kept).insertDirectly(at(10))
    expect(engine.label('safe')).toBe(hashAt(8))
    expect(kept.calls).toEqual(['truncate 8'])
  })

  it.each([
    { id: 'that entry belongs to another chain too', entries: ['foreign'] },
    { id: 'that entry is on a side chain of the engine', entries: ['side', 'foreign'] },
    { id: 'its tip is on a side chain of the engine', entries: ['side'] },
  ])('is cleared if $id', async ({ entries }) => {
    await download(10)
    const attributes = {
      ...attributesOn(CONFIG, refOf(CONFIG, at(7))),
      suggestedFeeRecipient: `0x${'5'.repeat(40)}`,
    } as const
    const side = engine.build(at(7), attributes)
    await engine.newPayload(side)
    const sideEntry = { number: 8, hash: side.payload.blockHash }
    const kept = history(entries.map((entry) => (entry === 'side' ? sideEntry : foreign)))
    await createController({}, kept).insertDirectly(at(10))
    expect(engine.label('safe')).toBe(hashAt(7))
    expect(kept.calls).toEqual(['clear'])
  })
})

describe('consensus-layer sync without requests to peers', () => {
  it('sends the engine the block above a gap, and accepts it when the engine has synced', async () => {
    const controller = createController({ mode: 'consensus-layer', reqResp: false })
    expect(controller.syncing).toBe(false)
    const genesis = refOf(CONFIG, GENESIS)
    await controller.reset(async () => ({ unsafe: genesis, safe: genesis, finalized: genesis }))
    await expect(controller.insertDirectly(at(5))).rejects.toMatchObject({
      code: 'engine-syncing',
      severity: 'temporary',
    })
    expect(controller.heads.unsafe.number).toBe(0)
    await download(4)
    expect(await controller.insertDirectly(at(5))).toBe('inserted')
    expect(controller.heads.unsafe.number).toBe(5)
    expect(engine.label('latest')).toBe(hashAt(5))
  })
})
