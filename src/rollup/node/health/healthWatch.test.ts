import { expect, it } from 'vitest'
import { ManualClock } from '../../../lib/clock.ts'
import { type LogFields, type Logger, silentLogger } from '../../../lib/logger.ts'
import { DerivationRecorder } from '../derivationRecorder.ts'
import { derivationStatus } from '../derivationStatus.ts'
import { type BatcherReport, createBatcherWatch } from './batcherWatch.ts'
import { HealthWatch } from './healthWatch.ts'

const START_MS = 1_700_000_000_000
const ref = (number: number, timestamp: number) => {
  const hash = '0x00' as const
  return { hash, number, parentHash: hash, timestamp, l1Origin: { hash, number: 1 }, sequenceNumber: 0 }
}

/** A sequencer without peers. The test makes its blocks, and its log lines are kept. */
function start() {
  const clock = new ManualClock(START_MS)
  const lines: string[] = []
  const write = (level: string) => (message: string, fields?: LogFields) => {
    lines.push([level, message, ...[fields?.command].filter((text) => text !== undefined)].join(': '))
  }
  const logger: Logger = { ...silentLogger, info: write('info'), warn: write('warn'), error: write('error') }
  const record = new DerivationRecorder({ clock }).record()
  let isActive = true
  let number = 0
  let head = ref(0, START_MS / 1000)
  let batcher: BatcherReport | undefined
  const watch = new HealthWatch(
    {
      head: () => head,
      derivation: () =>
        derivationStatus({
          ...{ nowMs: clock.now(), l1Head: head, l1HeadAtMs: clock.now(), currentL1: head, confirmations: 0 },
          ...{
            safe: head,
            safeMovedAtMs: undefined,
            unsafe: head,
            l1Endpoint: undefined,
            l1HeadProblem: undefined,
            engineEndpoint: undefined,
          },
          ...{
            engineIsSyncing: false,
            blobs: undefined,
            follows: undefined,
            record,
            forks: { active: 'karst', next: undefined },
            config: { seqWindowSize: 100, blockTime: 2, forks: {} },
          },
        }),
      sequencer: () => ({ active: isActive, hasConductor: false, failure: undefined }),
      ...{ gossip: undefined, batcher: () => batcher, clock, logger },
    },
    { blockTimeS: 1, name: 'alpha' },
  )
  const stop = new AbortController()
  const running = watch.run(stop.signal)
  const seconds = async (count: number, makesBlocks: boolean, { blocks = 1, behindS = 0 } = {}): Promise<void> => {
    for (let passed = 0; passed < count; passed++) {
      await clock.advance(1_000)
      if (!makesBlocks) continue
      number += blocks
      head = ref(number, clock.now() / 1000 - behindS)
      watch.headMoved(head, 'sequencer')
    }
  }
  return {
    ...{ watch, lines, seconds, clock },
    setActive: (active: boolean) => {
      isActive = active
    },
    setBatcher: (news: BatcherReport) => {
      batcher = news
    },
    end: () => {
      stop.abort()
      return running
    },
  }
}

it('logs one line for each lasting change, with its duration', async () => {
  const { watch, lines, seconds, setActive, setBatcher, clock, end } = start()
  await seconds(20, true)
  expect(lines).toEqual(['info: Node is healthy'])
  expect(await watch.read()).toMatchObject({ state: 'healthy', role: 'sequencer', name: 'alpha' })
  // A slow block gets no line, and neither does a second check of the same state.
  await seconds(4, false)
  expect((await watch.read()).state).toBe('stopped')
  await seconds(10, true)
  expect(lines).toHaveLength(1)

  const stoppedMs = clock.now()
  setActive(false)
  expect(await watch.read()).toMatchObject({
    ...{ state: 'stopped', sinceMs: stoppedMs, causes: [{ code: 'sequencer-stopped' }] },
    text: 'Alpha is stopped. An operator has stopped the sequencer. There has been no block for 0 s, since block 30.',
  })
  await seconds(60, false)
  expect(lines.slice(1)).toEqual(['warn: Node is stopped: devium sequencer start'])
  expect(await watch.read()).toMatchObject({ sinceMs: stoppedMs })

  setBatcher({ ok: false, text: 'it is stopped', isStopped: true, startCommand: 'devium batcher start' })
  await seconds(20, false)
  expect(lines.slice(2)).toEqual(['warn: Node is stopped: devium sequencer start'])
  setActive(true)
  await seconds(20, true)
  expect(lines.slice(3)).toEqual(['info: Node is degraded: devium batcher start'])
  setBatcher({ ok: true, text: 'all is well', isStopped: false, startCommand: '' })
  await seconds(20, true)
  expect(lines.slice(4)).toEqual(['info: Node is healthy'])
  await end()
})

it('does not count heads that are found again or replaced as new blocks', async () => {
  const { watch, seconds, end } = start()
  await seconds(5, true)
  await seconds(10, false)
  watch.headMoved({ number: 90 }, 'reset')
  watch.headMoved({ number: 5 }, 'derivation')
  expect((await watch.read()).state).toBe('stopped')
  watch.headMoved({ number: 6 }, 'derivation')
  expect((await watch.read()).state).not.toBe('stopped')
  await end()
})

it('reports the rate of a node that is catching up', async () => {
  const { watch, seconds, end } = start()
  await seconds(60, true, { blocks: 11, behindS: 3_600 })
  expect((await watch.read()).text).toBe(
    'Alpha is degraded. The unsafe head, block 660, is 3600 blocks behind the clock. It grows by 11 blocks/s and will catch up in 5 min.',
  )
  await end()
})

it('reports unpublished blocks until a block is published', async () => {
  const { watch, seconds, end } = start()
  await seconds(5, true)
  watch.published(new Error('the signer does not answer'))
  expect(await watch.read()).toMatchObject({ state: 'degraded', causes: [{ code: 'not-published' }] })
  watch.published()
  expect((await watch.read()).state).toBe('healthy')
  await end()
})

it('keeps the last status of the batch submitter, or that it does not answer', async () => {
  const clock = new ManualClock()
  const answers: (() => Promise<{ ok: boolean; why: string; running: boolean }>)[] = [
    async () => ({ ok: false, why: 'it is stopped', running: false }),
    async () => ({ ok: true, why: 'all is well', running: true }),
    () => Promise.reject(new Error('the batch submitter does not answer')),
  ]
  const batcher = { read: () => answers.shift()?.() ?? Promise.reject(new Error('no more')), startCommand: 'start it' }
  const watch = createBatcherWatch({ batcher, clock })
  expect(watch.last()).toBeUndefined()
  const stop = new AbortController()
  const running = watch.run(stop.signal)
  await clock.advance(0)
  const startCommand = 'start it'
  expect(watch.last()).toEqual({ ok: false, text: 'it is stopped', isStopped: true, startCommand })
  await clock.advance(2_000)
  expect(watch.last()).toEqual({ ok: true, text: 'all is well', isStopped: false, startCommand })
  await clock.advance(2_000)
  const text = 'the batch submitter does not answer'
  expect(watch.last()).toEqual({ ok: false, text, isStopped: false, startCommand })
  stop.abort()
  await running
})
